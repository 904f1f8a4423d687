# Families: by name, or as objects of stats' and brms' kind, whose link must be the one that is fitted.

tacit_families <- function() as.data.frame(.Call(C_families))

# As other packages call it: the library says what it is a link of, and softmax is brms' logit.
link_of <- function(name) {
  families <- tacit_families()
  if (!name %in% families$family) return("not known")
  link <- sub(",.*", "", families$link[families$family == name])
  if (link == "softmax") "logit" else link
}

bernoulli <- function(link = "logit") structure(class = "family", list(family = "bernoulli", link = link))
categorical <- function(link = "logit") structure(class = "family", list(family = "categorical", link = link))

# binomial() of a response without trials is bernoulli here, and probit by its link.
family_text <- function(family, formula = "") {
  if (is.null(family)) return(NULL)
  if (is.function(family)) family <- tryCatch(family(), error = function(e) NULL)
  if (!(is.character(family) && length(family) == 1L && !is.na(family)) && !(is.list(family) && is.character(family$family))) {
    refuse("a family: its name, or a family object such as binomial()", field = "family")
  }
  name <- if (is.character(family)) family else family$family[[1L]]
  known <- tacit_families()$family
  if (tolower(name) %in% known) name <- tolower(name) # stats::Gamma() is "Gamma"
  if (!name %in% known) {
    near <- .Call(C_family_meant, name)
    refuse(sprintf("unknown family '%s'%s; tacit_families() lists them", name, if (nzchar(near)) sprintf(": did you mean '%s'?", near) else ""),
           "unknown", "family")
  }
  link <- if (is.character(family)) NULL else family$link
  has_trials <- grepl("\\|.*trials\\(.*~", formula)
  if (identical(as.character(link), "probit") && (name == "bernoulli" || (name == "binomial" && !has_trials))) name <- "probit"
  if (!is.null(link) && !identical(as.character(link), link_of(name))) {
    refuse(sprintf("family %s has the link %s here, not %s%s; a program in Stan's language may have another: tacit_model() writes one to edit", name,
                   link_of(name), link,
                   if (name == "gamma") ": Gamma(\"log\")" else ""), field = "family")
  }
  if (name == "binomial" && !has_trials) "bernoulli" else name
}
