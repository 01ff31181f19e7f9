// The page /evidence/{signal}/{date}. It downloads each body that the number rests on, hashes it, and says whether the hash is its name.
const button = document.getElementById("hash-bytes");
const status = document.getElementById("hashed");

// say writes what came of a body. state is ok, wrong or open.
function say(row, state, text) {
  row.dataset.state = state;
  const cell = row.querySelector(".outcome");
  cell.replaceChildren();
  const mark = document.createElement("span");
  mark.className = `state ${state === "ok" ? "good" : state === "wrong" ? "" : "warn"}`;
  mark.textContent = text;
  cell.append(mark);
}

async function check(row) {
  const want = row.dataset.sha256;
  const answer = await fetch(`/raw/${want}`);
  if (answer.status === 451) {
    say(row, "open", "not shown: the publisher's terms");
    return "open";
  }
  if (!answer.ok) {
    say(row, "open", `not served: ${answer.status}`);
    return "open";
  }
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", await answer.arrayBuffer()));
  const got = Array.from(sum, (b) => b.toString(16).padStart(2, "0")).join("");
  say(row, got === want ? "ok" : "wrong", got === want ? "equal" : `differs: ${got}`);
  return got === want ? "ok" : "wrong";
}

button?.addEventListener("click", async () => {
  if (!globalThis.crypto?.subtle) {
    status.textContent = "This browser hashes on secure pages (https) only.";
    return;
  }
  button.disabled = true;
  const counts = { ok: 0, wrong: 0, open: 0 };
  for (const row of document.querySelectorAll("[data-sha256]")) {
    try {
      counts[await check(row)]++;
    } catch (error) {
      say(row, "open", `not read: ${error.message}`);
      counts.open++;
    }
  }
  status.textContent = `${counts.ok} equal, ${counts.wrong} different, ${counts.open} not compared.`;
  button.disabled = false;
});
