# How the expected response depends on one column, or on two, over their public bounds and levels.

conditional_effects <- function(x, ...) UseMethod("conditional_effects")
conditional_effects.tacit_fit <- function(x, effects = NULL, resolution = 100, conditions = NULL, prob = 0.9, ...) {
  no_more("conditional_effects", ...)
  if (is.null(x$schema)) refuse("give the schema to tacit_read(): the directory of this fit does not hold it", field = "schema")
  check_predictable(x)
  resolution <- whole(resolution, "resolution", 2, 1e5)
  of <- tails(of_probability(prob))
  columns <- check(.Call(C_columns, held_parts(x)))
  names(columns) <- vapply(columns, `[[`, "", "name")
  if (is.null(effects)) effects <- names(columns)
  if (!is.character(effects) || !length(effects) || anyNA(effects))
    refuse("effects: names of columns of the formula or the program, or two of them, \"age:sex\"", field = "effects")
  conditions <- conditions_of(conditions, columns)
  tables <- lapply(effects, function(effect) {
    names <- parts_of(effect, names(columns))
    do.call(rbind, lapply(seq_len(nrow(conditions)), function(i) {
      rows <- effect_rows(columns, names, resolution, conditions[i, , drop = FALSE])
      if (nrow(conditions) > 1L) rows$cond__ <- rownames(conditions)[[i]]
      effect_table(predictions(x, rows[names(columns)], 0L), rows, of)
    }))
  })
  structure(tables, names = effects, class = "tacit_effects")
}

# "age", or "age:sex".
parts_of <- function(effect, known) {
  names <- if (effect %in% known) effect else strsplit(effect, ":", fixed = TRUE)[[1L]]
  unknown <- setdiff(names, known)
  if (length(unknown))
    refuse(sprintf("'%s' is no column that predictions look at; there are %s", unknown[[1L]], paste(known, collapse = ", ")), field = "effects")
  if (!length(names) %in% 1:2 || anyDuplicated(names)) refuse(sprintf("'%s': one column, or two different ones", effect), field = "effects")
  names
}

conditions_of <- function(conditions, columns) {
  if (is.null(conditions)) return(data.frame(row.names = 1L))
  if (!is.data.frame(conditions) || nrow(conditions) == 0L) refuse("conditions: a data frame with a row for each condition", field = "conditions")
  unknown <- setdiff(names(conditions), names(columns))
  if (length(unknown))
    refuse(sprintf("'%s' is no column that predictions look at; there are %s", unknown[[1L]], paste(names(columns), collapse = ", ")),
           field = "conditions")
  conditions
}

middle_of <- function(column) {
  switch(column$type + 1L, (column$lower + column$upper) / 2, round((column$lower + column$upper) / 2), column$levels[[1L]], 0)
}

values_of <- function(column, n) {
  switch(column$type + 1L, seq(column$lower, column$upper, length.out = n), unique(round(seq(column$lower, column$upper, length.out = n))),
         column$levels, c(0, 1))
}

# The first column goes over its range; a second one, if it is a number, over its bounds and their middle.
effect_rows <- function(columns, names, resolution, condition) {
  values <- Map(values_of, columns[names], c(resolution, 3)[seq_along(names)])
  rows <- expand.grid(values, stringsAsFactors = FALSE, KEEP.OUT.ATTRS = FALSE)
  names(rows) <- names
  for (name in setdiff(names(columns), names)) rows[[name]] <- if (name %in% names(condition)) condition[[name]][[1L]] else middle_of(columns[[name]])
  rows
}

effect_table <- function(draws, rows, of) {
  classes <- dimnames(draws)[[3L]]
  part <- function(draws, ...) {
    table <- describe(draws, of)
    cbind(rows, ..., estimate__ = table[, 1L], se__ = table[, 2L], lower__ = table[, 3L], upper__ = table[, 4L])
  }
  if (is.null(classes)) return(part(draws))
  do.call(rbind, lapply(classes, function(class) part(draws[, , class], cats__ = class)))
}

columns_of <- function(effect, table) if (effect %in% names(table)) effect else strsplit(effect, ":", fixed = TRUE)[[1L]]

# "age 60, sex F": what the columns that an effect is not along are held at.
held_at <- function(effect, table) {
  held <- setdiff(grep("__$", names(table), value = TRUE, invert = TRUE), columns_of(effect, table))
  paste(vapply(held, function(name) paste(name, paste(unique(table[[name]]), collapse = " or ")), ""), collapse = ", ")
}

print.tacit_effects <- function(x, ...) {
  for (name in names(x)) {
    held <- held_at(name, x[[name]])
    cat(name, if (nzchar(held)) paste0(" (held: ", held, ")"), ":\n", sep = "")
    shown <- c(columns_of(name, x[[name]]), "cond__", "cats__", "estimate__", "lower__", "upper__")
    print(head(x[[name]][intersect(shown, names(x[[name]]))], 10L), row.names = FALSE)
  }
  invisible(x)
}

plot.tacit_effects <- function(x, ...) {
  for (name in names(x)) {
    of <- columns_of(name, x[[name]])
    pages <- if (is.null(x[[name]]$cond__)) list(x[[name]]) else split(x[[name]], factor(x[[name]]$cond__, unique(x[[name]]$cond__)))
    for (i in seq_along(pages)) {
      by <- c(if (length(of) == 2L) of[[2L]], intersect("cats__", names(pages[[i]])))
      parts <- if (!length(by)) list(pages[[i]]) else split(pages[[i]], lapply(pages[[i]][by], function(v) factor(v, unique(v))), sep = ", ")
      plot_effect(of[[1L]], parts, names(pages)[i], held_at(name, pages[[i]]))
    }
  }
  invisible(x)
}

# One column's effect; a part for each class of the response, and each value of a second column.
plot_effect <- function(name, parts, title = NULL, held = "") {
  values <- parts[[1L]][[name]]
  at <- if (is.numeric(values)) values else seq_along(values)
  colours <- if (length(parts) == 1L) "steelblue" else hcl.colors(length(parts), "Dark 3")
  limits <- range(vapply(parts, function(part) range(part$lower__, part$upper__), c(0, 0)))
  graphics::plot(range(at), limits, type = "n", xlab = name, sub = if (nzchar(held)) paste("held:", held), ylab = "expected response", main = title,
                 xaxt = if (is.numeric(values)) "s" else "n",
                 xlim = if (is.numeric(values)) range(at) else range(at) + c(-0.5, 0.5))
  if (!is.numeric(values)) axis(1, at, values)
  for (k in seq_along(parts)) {
    part <- parts[[k]]
    if (is.numeric(values)) {
      polygon(c(at, rev(at)), c(part$lower__, rev(part$upper__)), col = adjustcolor(colours[[k]], 0.3), border = NA)
      lines(at, part$estimate__, lwd = 2, col = colours[[k]])
    } else {
      segments(at, part$lower__, at, part$upper__, col = colours[[k]])
      points(at, part$estimate__, pch = 19, col = colours[[k]])
    }
  }
  if (length(parts) > 1L) legend("topright", names(parts), col = colours, lwd = 2, bty = "n")
}
