/**
 * @file plugin.h
 * All that plug-ins are written against: a model of one's own, opened by a curator and sampled, or a model
 * and a mechanism of one's own for inference from a released statistic (examples/).
 */
#ifndef TACIT_PLUGIN_H
#define TACIT_PLUGIN_H

#include "tacit/account.h"
#include "tacit/augment.h"
#include "tacit/base.h"
#include "tacit/curator.h"
#include "tacit/data.h"
#include "tacit/diagnose.h"
#include "tacit/draws.h"
#include "tacit/model.h"
#include "tacit/random.h"
#include "tacit/sample.h"

#endif
