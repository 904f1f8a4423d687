# Every source gives the same records; conditions; no record in what is saved.
library(tacit)
n <- 2000
x <- round(6 * ((seq_len(n) * 7919) %% 1009) / 1009 - 3, 3)
s <- ifelse((seq_len(n) * 31) %% 7 < 3, "b", "a")
y <- as.integer(((seq_len(n) * 104729) %% 10007) / 10007 < 1 / (1 + exp(-(0.3 + 0.8 * x - 0.6 * (s == "b")))))
k <- ifelse(seq_len(n) %% 11 == 0, NA, seq_len(n) %% 8)
d <- data.frame(x, s, y, k, stringsAsFactors = FALSE)
schema <- list(columns = list(x = list(type = "numeric", lower = -3, upper = 3), s = list(type = "categorical", levels = c("a", "b")),
                              y = list(type = "binary"), k = list(type = "integer", lower = 0, upper = 9, missing = 4)))
draws <- function(data, ...) tacit(y ~ x + s + k, data, schema, family = "bernoulli", epsilon = 2, delta = 1e-6, seed_not_private = 3, ...)$draws
file <- tempfile(fileext = ".csv")
write.csv(d, file, row.names = FALSE, quote = FALSE)
expected <- draws(file)
stopifnot(identical(draws(d), expected),
          identical(draws(transform(d, s = factor(s, c("b", "unused", "a")))), expected),
          identical(draws(transform(d, y = y == 1)), expected),
          identical(draws(transform(d, k = as.integer(k))), expected),
          identical(draws(cbind(d, when = as.Date("2020-01-01"), mess = I(rep(list(1), n)))), expected))
# As haven::read_sav(user_na = TRUE) has it: what the user of SPSS declared missing stands among the values.
spss <- function(x, ...) structure(x, class = c("haven_labelled_spss", "haven_labelled", "vctrs_vctr", typeof(x)), ...)
coded <- d
coded$k[is.na(k)] <- c(-1, 8, 9)[1 + seq_len(sum(is.na(k))) %% 3]
stopifnot(identical(draws(within(coded, k <- spss(k, na_values = -1, na_range = c(8, Inf)))), expected),
          identical(draws(within(coded, k <- spss(as.integer(k), na_values = c(-1L, 8L, 9L)))), expected))
if (requireNamespace("bit64", quietly = TRUE)) {
  stopifnot(identical(draws(transform(d, k = bit64::as.integer64(k))), expected))
}

# Conditions, and no value in them.
refused <- function(expression) tryCatch(expression, tacit_error = identity)
fit <- function(data, ...) tacit(y ~ x + s, data, schema, family = binomial(), epsilon = 2, delta = 1e-6, ...)
marker <- "Smith-4711"
bad <- refused(fit(transform(d, s = c(marker, s[-1]))))
stopifnot(inherits(bad, "tacit_data_error"), identical(bad$field, "s"), !grepl(marker, conditionMessage(bad)), is.null(conditionCall(bad)),
          conditionMessage(bad) == "row 1, column 's': not one of the levels in the schema: expected a, b",
          inherits(refused(fit(transform(d, x = as.Date("2020-01-01")))), "tacit_data_error"),
          inherits(refused(fit(transform(d, x = as.POSIXct("2020-01-01")))), "tacit_data_error"),
          inherits(refused(fit(transform(d, x = as.character(x)))), "tacit_data_error"),
          inherits(refused(fit(d, clip_grad = "nonsense")), "tacit_argument_error"),
          inherits(refused(fit(d, sed = 1)), "tacit_error"),
          identical(refused(fit(d, seed = 1))$field, "seed"),
          grepl("accept_poor", conditionMessage(refused(fit(d, yes = TRUE)))), grepl("tacit_plan", conditionMessage(refused(fit(d, dry_run = TRUE)))),
          inherits(refused(tacit(y ~ z, d, schema, family = "bernoulli", epsilon = 1, delta = 1e-6)), "tacit_error"),
          inherits(refused(fit(d, method = "dp-penalty", chains = 4)), "tacit_error"))
poor <- refused(tacit(y ~ x + s, d, schema, family = "bernoulli", method = "dp-penalty", epsilon = 6, delta = 1e-6))
stopifnot(inherits(poor, "tacit_poor_plan_error"), identical(poor$plan$verdict, "poor") || identical(poor$plan$verdict, "hopeless"))

# What a fit is, and what of it can be saved.
secret <- d
secret$x[[1]] <- 2.7182845904
one <- fit(secret)
path <- tempfile()
saveRDS(one, path, compress = FALSE)
bytes <- readBin(path, "raw", file.size(path))
needle <- writeBin(2.7182845904, raw(), endian = "big")
positions <- which(bytes == needle[[1]])
found <- any(vapply(positions, function(p) p + 7 <= length(bytes) && identical(bytes[p:(p + 7)], needle), NA))
stopifnot(!found, file.size(path) - object.size(one$draws) < 1e5, file.size(path) < 1e6,
          identical(dim(one$draws), c(1000L, 4L, 3L)), grepl("^Private: epsilon = 2", one$statement), is.character(one$formula),
          all.equal(coef(one), apply(as.matrix(one), 2, mean)), nrow(summary(one)) == 3L, identical(rownames(vcov(one)), names(coef(one))))
new <- data.frame(x = c(-1.5, 2), s = c("b", "a"))
eta <- as.matrix(one) %*% rbind(1, new$x, new$s == "b")
stopifnot(all.equal(posterior_epred(one, newdata = new), 1 / (1 + exp(-eta)), check.attributes = FALSE),
          all.equal(fitted(one, new)[, "Estimate"], colMeans(1 / (1 + exp(-eta))), check.attributes = FALSE),
          identical(names(conditional_effects(one)), c("x", "s")),
          inherits(refused(nobs(one)), "tacit_error"), inherits(refused(fitted(one)), "tacit_error"))
# A family that is a program, and a program of one's own: the program comes with the fit.
exposed <- list(method = "hmc", exposed = TRUE, draws = 100, warmup = 100)
grouped <- do.call(tacit, c(list(y ~ x + (1 | s), d, schema, family = "bernoulli"), exposed))
m <- as.matrix(grouped)
eta <- cbind(m[, "Intercept"] - 1.5 * m[, "x"] + m[, "r_s_1[2]"], m[, "Intercept"] + 2 * m[, "x"] + m[, "r_s_1[1]"])
stopifnot(all.equal(posterior_epred(grouped, newdata = new), 1 / (1 + exp(-eta)), check.attributes = FALSE),
          setequal(names(conditional_effects(grouped)), c("x", "s")), all(predict(grouped, new, seed = 1)[, "Q95"] %in% 0:1),
          identical(refused(posterior_epred(grouped, newdata = data.frame(x = 0, s = "zz")))$field, "s"))
# What is missing in new rows is the schema's value; where records would be left out, it is refused.
holes <- schema
holes$columns$x$missing <- "drop"
gone <- data.frame(x = c(0.5, NA), s = "b", k = 1L)
for (of in list(list(y ~ x + s + k, "bernoulli"), list(y ~ x + k + (1 | s), "bernoulli"))) {
  one_hole <- do.call(tacit, c(list(of[[1L]], d, holes, family = of[[2L]]), exposed))
  found <- refused(posterior_epred(one_hole, newdata = gone))
  stopifnot(inherits(found, "tacit_error"), grepl("row 2: column 'x' is missing", conditionMessage(found), fixed = TRUE),
            identical(posterior_epred(one_hole, newdata = data.frame(x = 0.5, s = "b", k = NA_integer_)),
                      posterior_epred(one_hole, newdata = data.frame(x = 0.5, s = "b", k = 4L))))
}
file <- tempfile(fileext = ".stan")
writeLines(c("data { real<lower=-3, upper=3> x; int<lower=0, upper=1> y; }", "parameters { real alpha; vector[1] beta; }",
             "model { alpha ~ normal(0, 2); beta ~ normal(0, 2); y ~ bernoulli_logit(alpha + beta[1] * x); }"), file)
written <- file.path(tempdir(), "own")
own <- do.call(tacit, c(list(file, d, schema, out = written), exposed))
m <- as.matrix(own)
for (kept in list(own, tacit_read(written))) {
  stopifnot(all.equal(posterior_epred(kept, newdata = new["x"]), 1 / (1 + exp(-(m %*% rbind(1, new$x)))), check.attributes = FALSE))
}
out <- file.path(tempfile(), "fit")
dir.create(dirname(out))
ledger <- tacit_ledger_create(file.path(dirname(out), "l.ledger"), "test", 10, 1e-5)
two <- fit(d, out = out, ledger = file.path(dirname(out), "l.ledger"))
again <- tacit_read(out, schema = schema)
stopifnot(identical(two$draws, again$draws), identical(two$formula, again$formula), identical(two$end, again$end),
          identical(two$family, again$family), identical(posterior_epred(again, newdata = new), posterior_epred(two, newdata = new)))
ledger <- tacit_ledger(file.path(dirname(out), "l.ledger"), verify = TRUE)
stopifnot(ledger$spent > 0, nrow(ledger$spends) == 1L, ledger$spends$settled)
stopifnot(tacit_account("gaussian:sigma=20", delta = 1e-6, counts = 1000) == 8.306225049954753)

# Pages to sign, the program of a formula, average effects.
folder <- dirname(out)
page <- tacit_statement(out, out = file.path(folder, "page.html"))
stopifnot(grepl("epsilon = 2, delta = 1e-06", tacit_statement(out)), grepl("</html>", page), file.exists(file.path(folder, "page.html")),
          grepl("the data set \"test\"", tacit_statement(ledger = file.path(folder, "l.ledger"))),
          inherits(refused(tacit_statement()), "tacit_argument_error"), inherits(refused(tacit_statement(out, out = file.path(folder, "a.json"))),
                                                                                 "tacit_argument_error"),
          grepl("bernoulli_logit", tacit_model(y ~ x, binomial(), schema)), inherits(refused(tacit_model(y ~ x, "q", schema)), "tacit_error"))
effects <- tacit_average_effects(two, c("s", "x"), new)
epred_of <- function(level) rowMeans(posterior_epred(two, newdata = data.frame(x = new$x, s = level)))
stopifnot(identical(rownames(effects), c("s: b - a", "x: slope")), all.equal(effects[["s: b - a", "Estimate"]], mean(epred_of("b") - epred_of("a"))),
          inherits(refused(tacit_average_effects(two, "z", new)), "tacit_error"))

# Which epsilon.
wanted <- tacit_epsilon_for(1.2, y ~ x + s, schema, n, binomial(), 1e-6, out = file.path(folder, "plan.html"))
stopifnot(identical(wanted$relation, c("substitute", "add-remove")), file.exists(file.path(folder, "plan.html")),
          wanted$epsilon_unkind[[1L]] > wanted$epsilon[[1L]],
          abs(tacit_plan(y ~ x + s, schema, n, binomial(), wanted$epsilon[[1L]], 1e-6)$width - 1.2) < 0.01,
          inherits(refused(tacit_epsilon_for(1, y ~ x + s, schema, n, binomial(), 1e-6)), "tacit_error"))

# A statistic with noise, and what follows from it.
released <- tacit_release(data = d, schema = schema, statistic = "clamped-mean", column = "x", mechanism = "laplace", epsilon = 8)
stopifnot(abs(released$values - sum(x)) < 21 * released$scales, grepl("epsilon 8", released$spent))
law <- list(records = "gaussian", mean = "normal(0, 3)", sd = 1.7)
post <- tacit_infer(law, released, draws = 300, warmup = 200, seed = 1)
stopifnot(identical(dim(post$draws), c(300L, 4L, 1L)), post$family == "gaussian", grepl("released statistic", post$statement),
          abs(coef(post)[["mean"]] - mean(x)) < 1, identical(tacit_infer(law, released$yaml, draws = 300, warmup = 200, seed = 1)$draws, post$draws),
          nrow(summary(post)) == 1L, inherits(refused(posterior_epred(post, newdata = new)), "tacit_error"))
stopifnot(inherits(refused(tacit_infer(list(records = "gauss"), released)), "tacit_syntax_error"),
          inherits(refused(tacit_infer(law, released, leapfrog = 3)), "tacit_argument_error"),
          identical(refused(tacit_release(data = d, schema = schema, statistic = "counts", column = "s", epsilon = 1, seed = 1))$field, "seed"),
          "mechanism" %in% tacit_settings("release")$name, "interweave" %in% sub("no-", "", tacit_settings("infer")$name))

# What follows from what a fit released: nothing spent but by the check.
again <- tacit_refit(out)
made <- tacit_synthesize(out, rows = 20, sets = 2)
beside <- tacit_check(out, d, epsilon = 2, delta = 1e-6, by = "x", seed_not_private = 1)
stopifnot(identical(again$draws, two$draws), !identical(tacit_refit(out, prior = "normal(0, 0.1)")$draws, two$draws),
          identical(names(made)[[1L]], "synthetic_set"), nrow(made) == 40L, all(made$s %in% c("a", "b")),
          identical(made, tacit_synthesize(out, rows = 20, sets = 2)),
          nrow(beside$calibration) == 10L, nrow(beside$by_term) == 10L, beside$epsilon == 2, !beside$private,
          all.equal(tacit_contrast(two, "2 * x")[, "Estimate"], 2 * coef(two)[["x"]], check.attributes = FALSE),
          inherits(refused(tacit_combine(c(out, out))), "tacit_error"))

# A check is shown with its fit, and counts beside it where there is no ledger; sites whose effects differ.
folder <- tempfile()
dir.create(folder)
in_folder <- function(name) file.path(folder, name)
invisible(tacit_check(out, d, epsilon = 2, delta = 1e-6, seed_not_private = 1, out = in_folder("c.json")))
tacit_refit(out, check = in_folder("c.json"), out = in_folder("shown"))
has_calibration <- function(path) any(grepl("alibration", readLines(file.path(path, "report.html"), warn = FALSE)))
stopifnot(has_calibration(in_folder("shown")), !has_calibration(out))
said <- function(expression) tryCatch({ expression; "" }, warning = conditionMessage)
own <- c(schema, dataset = "counted")
spend <- function(...) tacit(y ~ x + s, d, own, family = binomial(), epsilon = 2, delta = 1e-6, draws = 50, warmup = 50, ...)
stopifnot(said(spend(out = in_folder("one"))) == "",
          grepl("^2 fits.*together epsilon 3 at delta 1.1e-06", said(tacit_check(in_folder("one"), d, epsilon = 1, delta = 1e-7))),
          grepl("^3 fits.*together epsilon 5 at delta 2.1e-06", said(spend())),
          grepl("^4 fits.*together epsilon 6 at delta 2.1e-06", said(tacit_release(data = d, schema = own, statistic = "clamped-mean", column = "x",
                                                                                   mechanism = "laplace", epsilon = 1))),
          file.rename(in_folder("one"), in_folder("moved")),
          grepl("^2 fits.*together epsilon 3 at delta 1.1e-06", said(tacit_check(in_folder("moved"), d, epsilon = 1, delta = 1e-7))))
suppressWarnings(spend(out = in_folder("two")))
sites <- c(in_folder("moved"), in_folder("two"))
mean_of <- tacit_combine(sites, exchangeable = TRUE)
stopifnot(identical(dim(mean_of$draws)[[3L]], 12L), vcov(tacit_combine(sites, exchangeable = TRUE,
                                                                       between_sd = 0.01))[2L, 2L] < vcov(mean_of)[2L, 2L],
          inherits(refused(tacit_combine(sites, between_sd = 1)), "tacit_argument_error"))
