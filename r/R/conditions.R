# Failures of the library as conditions: tacit_data_error, tacit_budget_error, ...; each is a tacit_error with field and status.

statuses <- c("-1" = "memory", "-2" = "argument", "-3" = "state", "-4" = "interrupted", "-100" = "syntax", "-101" = "schema",
              "-102" = "data", "-103" = "unknown", "-200" = "numeric", "-300" = "budget", "-301" = "noise", "-302" = "sensitivity",
              "-400" = "io", "-401" = "exists", "-402" = "missing")

tacit_condition <- function(message, status, field = "", detail = "", ...) {
  structure(class = c(paste0("tacit_", status, "_error"), "tacit_error", "error", "condition"),
            list(message = message, call = NULL, status = status, field = field, detail = detail, ...))
}

refuse <- function(message, status = "argument", field = "") stop(tacit_condition(message, status, field))

# What .Call returned, or the condition that it stands for. A condition holds no call: calls hold arguments, and those may be records.
check <- function(result) {
  if (inherits(result, "condition")) stop(result)
  if (!inherits(result, "tacit_failure")) return(result)
  status <- statuses[[as.character(result$status)]]
  message <- sub("^the stream has no (records|column)", "the data have no \\1", result$message) # a data frame is handed over as one
  if (status == "unknown" && startsWith(message, "no setting '")) { # of arguments that is
    status <- "argument"
    message <- gsub("-", "_", message, fixed = TRUE)
  }
  if (status == "interrupted" && startsWith(result$detail, "{")) {
    stop(tacit_condition(message, status, result$field, releases = lines_of(result$detail)))
  }
  stop(tacit_condition(message, status, result$field, result$detail))
}
