#!/usr/bin/env bash
# Makes sure that the programs of a PostgreSQL server and of a redis-server are on this machine. What is there is left as it is.
# With the argument chromium, of a browser instead, with letters for the languages of the pages. On Debian and its kin, what is missing is
# installed by root, and unpacked below .cache/debian by anyone else; no service is started. With the argument promtool, that one program
# is taken out of Debian's package prometheus, without which everything else can be tested. With the argument pandas, of a python3 with
# pandas, which root installs on Debian; without it one test is skipped. With the argument r, of R in the same way, and with shell of Chromium's
# headless shell, which draws the same pages with half of the processor time.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/debian
oldest=14
what=${1:-servers}

# major prints the major version of the PostgreSQL in a folder, and nothing if there is none that runs.
major() {
	[ -x "$1/postgres" ] && [ -x "$1/initdb" ] || return 0
	"$1/postgres" --version 2>/dev/null | sed -nE 's/.*\(PostgreSQL\) ([0-9]+).*/\1/p' || true
}

# postgres_folder prints the folder of a PostgreSQL that will do. internal/devstack looks in the same places.
postgres_folder() {
	local dir version
	local -a path
	IFS=: read -ra path <<<"$PATH"
	for dir in "$cache/bin" "${path[@]}" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin \
		/opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin /Applications/Postgres.app/Contents/Versions/*/bin; do
		version=$(major "$dir")
		if [ -n "$version" ] && [ "$version" -ge "$oldest" ]; then
			echo "$dir"
			return
		fi
	done
}

# redis_program prints the path of a redis-server that runs.
redis_program() {
	local program
	for program in "$cache/bin/redis-server" "$(command -v redis-server || true)"; do
		if [ -x "$program" ] && "$program" --version >/dev/null 2>&1; then
			echo "$program"
			return
		fi
	done
}

# chromium_program prints the path of a Chromium that runs.
chromium_program() {
	local program
	for program in "$cache/bin/chromium" "$(command -v chromium || true)" "$(command -v chromium-browser || true)" \
		"$(command -v google-chrome || true)" '/Applications/Chromium.app/Contents/MacOS/Chromium' \
		'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'; do
		if [ -x "$program" ] && "$program" --version >/dev/null 2>&1; then
			echo "$program"
			return
		fi
	done
}

# has_hindi tells whether the browser finds letters for Hindi. One of ours brings them; where nobody can be asked, they are taken to be there.
has_hindi() {
	if [ -x "$cache/bin/chromium" ]; then
		return 0
	elif command -v fc-list >/dev/null; then
		[ -n "$(fc-list :lang=hi family)" ]
	elif command -v dpkg-query >/dev/null; then
		dpkg-query -W -f '${Status}' fonts-lohit-deva 2>/dev/null | grep -q ' installed'
	fi
}

missing() {
	if [ "$what" = chromium ]; then
		if [ -z "$(chromium_program)" ] || { ! has_hindi && [ "$(id -u)" != 0 ]; }; then
			printf '%s\n' chromium fonts-dejavu-core fonts-lohit-deva # fonts of ours are seen by a browser of ours alone
		elif ! has_hindi; then
			echo fonts-lohit-deva
		fi
		return
	fi
	[ -n "$(postgres_folder)" ] || echo postgresql
	[ -n "$(redis_program)" ] || echo redis-server
}

# quietly runs a command and shows what it says only if it fails.
quietly() {
	local log status=0
	log=$(mktemp)
	"$@" >"$log" 2>&1 || status=$?
	[ "$status" = 0 ] || tail -n 20 "$log" >&2
	rm -f "$log"
	return "$status"
}

have_lists() { compgen -G "$1/*_Packages*" >/dev/null; }

install_as_root() {
	echo "Installing $*"
	# Packages start their service unless this says no.
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
		printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
		chmod 755 /usr/sbin/policy-rc.d
	fi
	local -a install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
	if have_lists /var/lib/apt/lists && "${install[@]}" >/dev/null 2>&1; then
		return
	fi
	# There are no package lists, or they name versions that are gone.
	echo 'Fetching the package lists'
	quietly apt-get update
	quietly "${install[@]}"
}

# unpack fetches packages with all that they need, as the apt options say, and unpacks them. It is called where bash does not stop at
# errors, so it looks for them itself.
unpack() {
	local plan package
	local -a packages
	plan=$(apt-get "${apt[@]}" -s --no-install-recommends install "$@") || return
	# The C library belongs to the machine's own loader.
	mapfile -t packages < <(sed -nE 's/^Inst ([^ ]+) .*/\1/p' <<<"$plan" | grep -vE '^(libc6|libc-bin|locales)$')
	if [ ${#packages[@]} = 0 ]; then
		echo "apt-get has nothing to install for $*"
		return 1
	fi
	rm -rf "$cache/packages"
	mkdir -p "$cache/packages" "$cache/root" || return
	(cd "$cache/packages" && apt-get "${apt[@]}" download "${packages[@]}") || return
	for package in "$cache"/packages/*.deb; do
		dpkg -x "$package" "$cache/root" || return
	done
	rm -rf "$cache/packages"
}

# wrap writes small programs into .cache/debian/bin that run the unpacked ones with the unpacked libraries.
wrap() {
	local libraries program name
	libraries=$(cd "$cache/root" && find . -name '*.so.*' -printf '%h\n' | sort -u | sed 's|^\.|$here/root|' | paste -sd:)
	mkdir -p "$cache/bin"
	for program in "$cache"/root/usr/lib/postgresql/*/bin/* "$cache"/root/usr/bin/redis-* "$cache"/root/usr/lib/chromium/chromium; do
		[ -x "$program" ] || continue
		name=$(basename "$program")
		cat >"$cache/bin/$name" <<-END
			#!/bin/sh
			here=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")
			export LD_LIBRARY_PATH="$libraries"
			if [ -e "\$here/root/etc/fonts/fonts.conf" ]; then
				export FONTCONFIG_SYSROOT="\$here/root"
			elif [ -d "\$here/root/usr/share/fonts" ]; then
				export XDG_DATA_HOME="\$here/root/usr/share"
			fi
			exec "\$here/${program#"$cache/"}" "\$@"
		END
		chmod 755 "$cache/bin/$name"
	done
}

fetch_as_user() {
	echo "Unpacking $* into .cache/debian"
	apt=(-q -o Debug::NoLocking=1)
	if ! have_lists /var/lib/apt/lists || ! unpack "$@" >/dev/null 2>&1; then
		# There are no package lists, or they name versions that are gone: use lists of our own.
		echo 'Fetching the package lists'
		mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
		apt+=(-o Dir::State::lists="$cache/apt/lists" -o Dir::Cache="$cache/apt" -o Dir::Cache::archives="$cache/apt/archives")
		quietly apt-get "${apt[@]}" update
		quietly unpack "$@"
	fi
	wrap
}

# promtool_program prints the path of a promtool that runs.
promtool_program() {
	local program
	for program in "$cache/bin/promtool" "$(command -v promtool || true)"; do
		if [ -x "$program" ] && "$program" --version >/dev/null 2>&1; then
			echo "$program"
			return
		fi
	done
}

# fetch_promtool unpacks promtool alone, and not the server beside it. It is called where bash does not stop at errors.
fetch_promtool() {
	local folder=$cache/prometheus
	rm -rf "$folder"
	mkdir -p "$folder" "$cache/bin" "$cache/apt/lists/partial" "$cache/apt/archives/partial"
	cd "$folder" || return
	apt=(-q -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
	if ! apt-get "${apt[@]}" download prometheus >/dev/null 2>&1; then
		apt+=(-o Dir::State::lists="$cache/apt/lists" -o Dir::Cache="$cache/apt" -o Dir::Cache::archives="$cache/apt/archives")
		quietly apt-get "${apt[@]}" update || return
		quietly apt-get "${apt[@]}" download prometheus || return
	fi
	dpkg --fsys-tarfile prometheus_*.deb | tar -xO ./usr/bin/promtool >promtool || return
	chmod 755 promtool && mv promtool "$cache/bin/promtool" || return
	rm -rf "$folder"
}

# pandas_python prints the path of a python3 that has pandas. test/up looks in the same places.
pandas_python() {
	local program
	for program in "$(command -v python3 || true)" /usr/bin/python3; do
		if [ -x "$program" ] && "$program" -c 'import pandas' >/dev/null 2>&1; then
			echo "$program"
			return
		fi
	done
}

if [ "$what" = pandas ]; then
	if [ -z "$(pandas_python)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && command -v dpkg >/dev/null; then
		(install_as_root python3-pandas) || true
	fi
	program=$(pandas_python)
	if [ -z "$program" ]; then
		echo 'There is no python3 with pandas, and it cannot be installed (Debian has it in the package python3-pandas): the study of revisions is not run'
		exit
	fi
	echo "pandas at $program"
	exit
fi

if [ "$what" = shell ]; then
	if ! command -v chromium-headless-shell >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && command -v dpkg >/dev/null; then
		(install_as_root chromium-headless-shell) >/dev/null 2>&1 || true
	fi
	program=$(command -v chromium-headless-shell || true)
	if [ -z "$program" ] || ! "$program" --version >/dev/null 2>&1; then
		echo 'There is no headless shell of Chromium, and it cannot be installed (Debian has it in the package chromium-headless-shell): Chromium does its work'
		exit
	fi
	echo "shell at $program"
	exit
fi

if [ "$what" = r ]; then
	if ! command -v Rscript >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && command -v dpkg >/dev/null; then
		(install_as_root r-base-core) || true
	fi
	program=$(command -v Rscript || true)
	if [ -z "$program" ]; then
		echo 'There is no R, and it cannot be installed (Debian has it in the package r-base-core): the study of revisions in R is not run'
		exit
	fi
	echo "R at $program"
	exit
fi

if [ "$what" = promtool ]; then
	if [ -z "$(promtool_program)" ] && command -v apt-get >/dev/null && command -v dpkg >/dev/null; then
		(fetch_promtool) || true
	fi
	program=$(promtool_program)
	if [ -z "$program" ]; then
		echo 'There is no promtool, and it cannot be fetched (Debian has it in the package prometheus): its check of the alert rules is left out'
		exit
	fi
	echo "promtool at $program"
	exit
fi

mapfile -t wanted < <(missing)
if [ ${#wanted[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
		[ "$what" = servers ] || exit 1
		cat >&2 <<-END
			Missing: ${wanted[*]}. The tests need the programs of PostgreSQL $oldest or newer (postgres, initdb) and redis-server, in PATH:
			  macOS   brew install postgresql@17 redis
			  Fedora  dnf install postgresql-server redis
			  Arch    pacman -S postgresql redis
			  Alpine  apk add postgresql redis
			  SUSE    zypper install postgresql-server redis
			No service has to run. (make run does without them: it downloads a PostgreSQL and stands in for Redis.)
		END
		exit 1
	fi
	if [ "$(id -u)" = 0 ]; then
		install_as_root "${wanted[@]}"
	else
		fetch_as_user "${wanted[@]}"
	fi
	mapfile -t wanted < <(missing)
	if [ ${#wanted[@]} -gt 0 ]; then
		echo "Still missing, although the packages are here: ${wanted[*]}" >&2
		exit 1
	fi
fi
if [ "$what" = chromium ]; then
	echo "chromium at $(chromium_program)"
	exit
fi
folder=$(postgres_folder)
program=$(redis_program)
"$folder/postgres" --version | sed "s|\$| in $folder|"
"$program" --version | sed -E "s|^Redis server v=([^ ]+).*|redis-server \1 at $program|"
