# Reads a signal's whole past as CSV, and asks what was revised. It needs nothing beside R (Debian: r-base-core).
#
#     Rscript examples/r/revisions.R [SIGNAL ...]
#
# TIDEMARK_URL names the server, http://127.0.0.1:8080 without it.
server <- sub("/+$", "", Sys.getenv("TIDEMARK_URL", "http://127.0.0.1:8080"))
signals <- commandArgs(trailingOnly = TRUE)
if (length(signals) == 0) signals <- c("crack-spread-321", "hormuz-transit")
for (id in signals) {
  versions <- read.csv(paste0(server, "/api/signals/", id, "/history?vintages=all&format=csv"))
  versions <- versions[order(versions$observed_at, versions$vintage, versions$known_from), ]
  n <- nrow(versions)
  # A version that replaced another one, against the version before it.
  first <- c(TRUE, versions$observed_at[-1] != versions$observed_at[-n])
  before <- ifelse(first, NA, c(NA, versions$value[-n]))
  by <- abs(versions$value - before)[as.logical(versions$revised) & !is.na(before) & !is.na(versions$value)]
  largest <- if (length(by) == 0) "none" else format(max(by), digits = 15)
  cat(sprintf("%s: %d versions of %d points, %d revisions, the largest by %s\n", id, n, sum(first), length(by), largest))
}
