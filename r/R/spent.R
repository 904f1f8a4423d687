# What was spent on records in this session, by their schema: a ledger keeps count better.

spends <- new.env(parent = emptyenv())  # by schema: directory of the fit or "", epsilon, delta
schemas <- new.env(parent = emptyenv()) # of directories that were written here

place_of <- function(path) normalizePath(path, mustWork = FALSE)

# A fit's directory, so that checks of it count beside the fit.
wrote <- function(path, schema) assign(place_of(path), schema, envir = schemas)

# Of a fit or release without a ledger; the second one warns with the sum so far.
count_spend <- function(schema, epsilon, delta, path = NULL) {
  rows <- add_spend(schema, if (is.null(path)) "" else place_of(path), epsilon, delta)
  if (nrow(rows) > 1L) {
    warning(sprintf(paste("%d fits, releases or checks by this schema, and no ledger of them all: together epsilon %.4g at delta %.3g if their records",
                          "are the same; a ledger keeps count (ledger = )"), nrow(rows), sum(rows$epsilon), sum(rows$delta)), call. = FALSE)
  }
}

# Of a check without a ledger: beside what the fit in `path` cost by its privacy.json, wherever that was bought.
count_check <- function(path, privacy, epsilon, delta) {
  place <- place_of(path)
  schema <- get0(place, envir = schemas, ifnotfound = place)
  number <- function(name) as.numeric(sub(sprintf('(?s)^.*?"%s": ([^,}\n]*).*', name), "\\1", privacy, perl = TRUE))
  is_counted <- place %in% get0(key_of(schema), envir = spends, ifnotfound = list(place = ""))$place
  if (grepl('"private": true', privacy, fixed = TRUE) && !is_counted) add_spend(schema, place, number("epsilon"), number("delta"))
  count_spend(schema, epsilon, delta)
}

key_of <- function(schema) paste0("of ", schema) # no name is empty

add_spend <- function(schema, place, epsilon, delta) {
  rows <- rbind(get0(key_of(schema), envir = spends), data.frame(place = place, epsilon = epsilon, delta = delta))
  assign(key_of(schema), rows, envir = spends)
  rows
}
