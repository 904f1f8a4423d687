# Schemas: as text, drafted, checked.

# Of a list without a name: messages name the key at fault, "columns.age.type", and no line that nobody wrote.
schema_text <- function(schema) {
  if (missing(schema))
    refuse("a schema is needed: what is publicly known of each column, as a path, YAML text or a list; ?tacit_schema has one", "schema", "schema")
  public <- yaml_text(schema, "schema")
  if (is.list(schema)) public$name <- ""
  public
}

# A column of the same type without values, and without a factor's levels.
typed <- function(column) {
  if (is.factor(column)) return(factor())
  if (!is.atomic(column) && !is.list(column)) return(logical())
  structure(vector(typeof(column), 0L), class = oldClass(column))
}

# Names and types of columns, and questions: bounds and levels read off records would be a release that nobody charged.
tacit_schema_draft <- function(data, out = NULL) {
  file <- new_file(out)
  source <- if (is.data.frame(data)) lapply(data, typed) else one_path(data, "data")
  text <- lines_of(check(.Call(C_schema_draft, source)))
  if (is.null(file)) return(text)
  failure <- put_file(text, file)
  if (nzchar(failure)) refuse(failure, "io", "out")
  invisible(text)
}

# What checks found of records, by the key that an object has of it: it stays in the session, and is in nothing that is saved.
for_holders <- new.env(parent = emptyenv())

tacit_schema_check <- function(schema, data = NULL) {
  public <- schema_text(schema)
  found <- check(.Call(C_schema_check, public$text, public$name, if (!is.null(data)) source_of(data, public$text)))
  key <- ""
  if (!is.null(data)) {
    names(found$counts) <- c("rows", "units", "clamped", "missing", "beyond_max_rows")
    assign(key <- basename(tempfile("check")), list(for_holder = lines_of(found$for_holder), counts = found$counts), envir = for_holders)
  }
  structure(class = "tacit_schema_check", list(text = found$text, warnings = found$warnings, key = key))
}

`$.tacit_schema_check` <- function(x, name) {
  x <- unclass(x)
  if (!name %in% c("for_holder", "counts")) return(x[[name]])
  if (nzchar(x$key)) get0(x$key, envir = for_holders, ifnotfound = NULL)[[name]]
}

print.tacit_schema_check <- function(x, ...) {
  cat(x$text, x$warnings, sep = "")
  if (nzchar(x$key))
    cat("ok: every row of the data keeps the schema's rules\n$for_holder and $counts say what was moved or is missing: for the holder of the data only\n")
  invisible(x)
}
