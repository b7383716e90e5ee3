/* grebe/grebe.h - the whole public interface. */
#ifndef GREBE_H
#define GREBE_H

#include "grebe/container.h"
#include "grebe/document.h"
#include "grebe/index.h"
#include "grebe/loader.h"
#include "grebe/query.h"
#include "grebe/schema.h"
#include "grebe/search.h"
#include "grebe/status.h"

#endif
