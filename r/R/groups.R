# Effects of groups, (1 | g) and (1 + x | g), on the scale of the columns; and tables as other packages call them.

# Terms of groups: of each the labels of its sd and effects, its group and the column whose slope it is, "Intercept" if of none.
group_terms <- function(object) {
  labels <- dimnames(object$draws)[[3L]]
  sds <- grep("^sd_.+_[0-9]+$", labels, value = TRUE)
  if (!is_written(object) || !length(sds)) refuse("the fit has no effects of groups, (1 | g)", field = "formula")
  lines <- strsplit(object$program, "\n", fixed = TRUE)[[1L]]
  lapply(sds, function(sd) {
    name <- sub("^sd_", "", sd)
    line <- grep(sprintf("> %s; vector[", sd), lines, fixed = TRUE, value = TRUE)
    if (length(line) != 1L) refuse(sprintf("effects of '%s' by class of the response: as.matrix(fit) has their draws", sd), field = "formula")
    used <- grep(sprintf("[+] r_%s\\[", name), lines, value = TRUE)[[1L]]
    list(sd = sd, effects = labels[startsWith(labels, sprintf("r_%s[", name))], by = sub(sprintf(".*[+] r_%s\\[([A-Za-z0-9_]+)\\].*", name), "\\1", used),
         slope = if (grepl(" // ", line, fixed = TRUE)) sub(".* // ", "", line) else "Intercept")
  })
}

# What one of an effect as it is drawn, of features in [-1, 1] and of a scaled response, is on the scale of the columns.
unit_of <- function(object, slope) {
  of <- function(label) object$draws[1L, 1L, label]
  labels <- dimnames(object$draws)[[3L]]
  response <- if (all(c("sigma", "sigma_s") %in% labels)) of("sigma") / of("sigma_s") else 1
  if (slope == "Intercept") return(response)
  features <- setdiff(labels[startsWith(stan_names(object), "b_") & !startsWith(stan_names(object), "b_s.")], "Intercept")
  place <- match(slope, features)
  if (is.na(place))
    refuse(sprintf("the slope of '%s' differs by group and is no effect of its own, so that its unit is not known: as.matrix(fit) has the draws", slope),
           field = "formula")
  of(slope) / of(sprintf("b_s[%d]", place))
}

# Levels of the schema, by the name that the program has of a column; numbers where there are none such.
levels_of_group <- function(object, by, n) {
  columns <- tryCatch(check(.Call(C_columns, held_parts(object))), error = function(e) list())
  for (column in columns)
    if (length(column$levels) == n && gsub("[^A-Za-z0-9_]", "_", column$name) == by) return(column$levels)
  as.character(seq_len(n))
}

by_group <- function(terms) split(terms, vapply(terms, `[[`, "", "by"))

ranef <- function(object, ...) UseMethod("ranef")
ranef.tacit_fit <- function(object, probs = c(0.05, 0.95), ...) {
  no_more("ranef", ...)
  need_intervals(object)
  of_quantiles(probs)
  lapply(by_group(group_terms(object)), function(terms) {
    tables <- lapply(terms, function(term) describe(as.matrix(object, term$effects) * unit_of(object, term$slope), probs))
    levels <- levels_of_group(object, terms[[1L]]$by, nrow(tables[[1L]]))
    array(unlist(tables), c(dim(tables[[1L]]), length(tables)), list(levels, colnames(tables[[1L]]), vapply(terms, `[[`, "", "slope")))
  })
}

VarCorr <- function(x, sigma = 1, ...) UseMethod("VarCorr")
VarCorr.tacit_fit <- function(x, sigma = 1, probs = c(0.05, 0.95), ...) {
  no_more("VarCorr", ...)
  need_intervals(x)
  of_quantiles(probs)
  groups <- lapply(by_group(group_terms(x)), function(terms) {
    tables <- lapply(terms, function(term) describe(as.matrix(x, term$sd) * unit_of(x, term$slope), probs))
    table <- do.call(rbind, tables)
    rownames(table) <- vapply(terms, `[[`, "", "slope")
    list(sd = table)
  })
  if (!"sigma" %in% dimnames(x$draws)[[3L]]) return(groups)
  c(groups, list(residual__ = list(sd = describe(as.matrix(x, "sigma"), probs))))
}

# As broom has it: coefficients, and sigma.
tidy.tacit_fit <- function(x, conf.int = TRUE, conf.level = 0.9, exponentiate = FALSE, ...) {
  no_more("tidy", ...)
  table <- summary(x, prob = conf.level)[c(rownames(fixef(x)), intersect("sigma", dimnames(x$draws)[[3L]])), ]
  out <- data.frame(term = rownames(table), estimate = table[[1L]], std.error = table[[2L]])
  if (is_yes(conf.int, "conf.int")) out[c("conf.low", "conf.high")] <- list(table[[3L]], table[[4L]])
  if (!is_yes(exponentiate, "exponentiate")) return(out)
  is_effect <- out$term %in% rownames(fixef(x))
  numbers <- setdiff(names(out), c("term", "std.error"))
  out[is_effect, numbers] <- exp(out[is_effect, numbers])
  out
}
