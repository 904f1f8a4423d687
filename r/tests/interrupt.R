# Ctrl-C, as another process sends it: soon; nothing spent while records are read; while it draws, the draws so far and a ledger that is settled with
# what
# was charged; under relation add-remove nothing but the whole reservation.
library(tacit)
Sys.unsetenv("R_TESTS") # of R CMD check: a file that other processes, elsewhere, would not find
dir.create(where <- tempfile("interrupt"))
setwd(where)
n <- 2000
x <- round(6 * ((seq_len(n) * 7919) %% 1009) / 1009 - 3, 3)
d <- data.frame(x, y = as.integer((seq_len(n) * 104729) %% 10007 / 10007 < 1 / (1 + exp(-0.3 - 0.8 * x))))
schema <- list(columns = list(x = list(type = "numeric", lower = -3, upper = 3), y = list(type = "binary")))
saveRDS(d, "d.rds")

# A process that fits and says how that ended, when, and with how much processor time.
child <- c("library(tacit)", "given <- readRDS(commandArgs(TRUE)[[1L]])", "writeLines(as.character(Sys.getpid()), 'pid.new')",
           "invisible(file.rename('pid.new', 'pid'))",
           "if (identical(given$data, 'd.rds')) given$data <- readRDS('d.rds')", "warned <- ''",
           "fit <- withCallingHandlers(tryCatch(do.call(tacit, given), tacit_error = identity), warning = function(w) { warned <<- c(warned, conditionMessage(w)); invokeRestart('muffleWarning') })",
           "saveRDS(list(at = Sys.time(), cpu = sum(proc.time()[1:2]), class = class(fit), end = fit$end, n = dim(fit$draws)[[1L]], warned = warned), 'answer.new')",
           "invisible(file.rename('answer.new', 'answer'))")
writeLines(child, "child.R")

until <- function(is_so, what) {
  for (k in 1:1200) { # a minute
    if (is_so()) return(invisible())
    Sys.sleep(0.05)
  }
  stop("not within a minute: ", what, "; ", paste(tryCatch(readLines("err.txt"), error = conditionMessage, warning = conditionMessage),
                                                  collapse = "; "))
}

# is_time: of a process that has begun; the answer, with seconds and processor seconds from the signal on.
interrupted <- function(is_time, ...) {
  unlink(c("pid", "answer"))
  saveRDS(list(y ~ x, schema = schema, family = "bernoulli", delta = 1e-6, accept_poor = TRUE, ...), "given.rds")
  system2("env", c("--default-signal=INT", file.path(R.home("bin"), "Rscript"), "--vanilla", "child.R", "given.rds"), wait = FALSE,
          stdout = "out.txt", stderr = "err.txt")
  until(function() file.exists("pid"), "a process")
  until(is_time, "work of the process")
  pid <- as.integer(readLines("pid"))
  fields <- strsplit(sub(".*\\) ", "", readLines(file.path("/proc", pid, "stat"))), " ")[[1L]]
  used <- sum(as.numeric(fields[12:13])) / 100 # USER_HZ
  sent <- Sys.time()
  tools::pskill(pid, tools::SIGINT)
  until(function() file.exists("answer"), "an answer to SIGINT")
  answer <- readRDS("answer")
  answer$seconds <- as.numeric(answer$at - sent, units = "secs")
  answer$cpu <- answer$cpu - used
  cat(sprintf("%.2f s, %.2f s of the processor: %s\n", answer$seconds, answer$cpu, answer$class[[1L]]))
  stopifnot(answer$cpu < 0.5, answer$seconds < 10) # the clock also counts other processes
  answer
}

# Processes in the background of a shell are started deaf to SIGINT, and new versions of R stay so: GNU's env undoes it.
if (file.exists("/proc/self/stat") && suppressWarnings(system2("env", c("--default-signal=INT", "true"), stdout = FALSE, stderr = FALSE)) == 0L) {
  ledger <- tacit_ledger_create("l.ledger", "d", 1000, 1e-5)
  spends <- function(path) tacit_ledger(path)$spends

  # While it reads: rows without an end.
  system("mkfifo pipe.csv")
  writeLines(sprintf("%.3f,%d", d$x, d$y), "rows")
  system("{ echo x,y; while cat rows 2> /dev/null; do :; done; } > pipe.csv 2> /dev/null", wait = FALSE)
  answer <- interrupted(function() { Sys.sleep(1); TRUE }, data = "pipe.csv", epsilon = 2, ledger = "l.ledger")
  unlink("rows") # ends who writes them, if the closed pipe did not
  stopifnot("tacit_interrupted_error" %in% answer$class, nrow(spends("l.ledger")) == 0L, tacit_ledger("l.ledger")$spent == 0)

  # While it draws.
  long <- list(data = "d.rds", epsilon = 500, method = "dp-hmc", chains = 1, draws = 2000000, warmup = 100)
  drawing <- function(path) function() nrow(spends(path)) == 1L && { Sys.sleep(1); TRUE }
  answer <- do.call(interrupted, c(list(drawing("l.ledger"), ledger = "l.ledger"), long))
  stopifnot(identical(answer$end, "interrupted"), answer$n > 0, answer$n < 2000000,
            any(grepl("^interrupted: these are the draws so far", answer$warned)),
            spends("l.ledger")$settled, tacit_ledger("l.ledger")$spent < 499)

  # Under add-remove how far a run got may tell how many records there are.
  schema$relation <- "add-remove"
  tacit_ledger_create("a.ledger", "d", 1000, 1e-5, relation = "add-remove")
  answer <- do.call(interrupted, c(list(drawing("a.ledger"), ledger = "a.ledger", n_public = n), long))
  stopifnot("tacit_interrupted_error" %in% answer$class, !spends("a.ledger")$settled, tacit_ledger("a.ledger")$spent > 450)
}
