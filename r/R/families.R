# Families: by name, or as objects of stats' and brms' kind, whose link must be the one that is fitted.

links <- c(bernoulli = "logit", gaussian = "identity", student = "identity", lognormal = "identity", weibull = "log", exponential = "log", gamma = "log", beta = "logit",
           poisson = "log", negbinomial = "log", binomial = "logit", beta_binomial = "logit", cumulative = "logit", zero_inflated_poisson = "log",
           zero_inflated_negbinomial = "log", zero_inflated_binomial = "logit", hurdle_poisson = "log", hurdle_negbinomial = "log", hurdle_lognormal = "identity",
           hurdle_gamma = "log", categorical = "logit")

link_of <- function(name) if (name %in% names(links)) links[[name]] else "not known"

# Names that others give, and the nearest one of ours.
meant <- function(name) {
  plain <- gsub("[^a-z]+", "_", tolower(name))
  known <- c(nbinom = "negbinomial", negative_binomial = "negbinomial", ordinal = "cumulative", ordered = "cumulative", sratio = "cumulative", multinomial = "categorical",
             normal = "gaussian", logistic = "bernoulli", student_t = "student", quasipoisson = "negbinomial", quasibinomial = "beta_binomial")
  if (plain %in% names(known)) return(known[[plain]])
  distance <- utils::adist(plain, names(links))[1L, ]
  if (min(distance) <= max(1, nchar(plain) %/% 3)) names(links)[[which.min(distance)]] else ""
}

tacit_families <- function() data.frame(family = names(links), link = unname(links))

bernoulli <- function(link = "logit") structure(class = "family", list(family = "bernoulli", link = link))
categorical <- function(link = "logit") structure(class = "family", list(family = "categorical", link = link))

# binomial() of a response without trials is bernoulli here.
family_text <- function(family, formula = "") {
  if (is.null(family)) return(NULL)
  if (is.function(family)) family <- tryCatch(family(), error = function(e) NULL)
  if (!(is.character(family) && length(family) == 1L && !is.na(family)) && !(is.list(family) && is.character(family$family))) {
    refuse("a family: its name, or a family object such as binomial()", field = "family")
  }
  name <- if (is.character(family)) family else family$family[[1L]]
  if (tolower(name) %in% names(links)) name <- tolower(name) # stats::Gamma() is "Gamma"
  if (!name %in% names(links)) {
    near <- meant(name)
    refuse(sprintf("unknown family '%s'%s; tacit_families() lists them", name, if (nzchar(near)) sprintf(": did you mean '%s'?", near) else ""), "unknown", "family")
  }
  link <- if (is.character(family)) NULL else family$link
  if (!is.null(link) && name %in% names(links) && !identical(as.character(link), links[[name]])) {
    refuse(sprintf("family %s has the link %s here, not %s%s; a program in Stan's language may have another: tacit_model() writes one to edit", name, links[[name]], link,
                   if (name == "gamma") ": Gamma(\"log\")" else ""), field = "family")
  }
  if (name == "binomial" && !grepl("\\|.*trials\\(.*~", formula)) "bernoulli" else name
}
