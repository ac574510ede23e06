// Every body that the translator may call.
#pragma once

#include "semantics/dot_float.h"
#include "semantics/missing.h"
#include "semantics/sop1.h"
#include "semantics/sop2.h"
#include "semantics/sopc.h"
#include "semantics/sopk.h"
#include "semantics/vector_alu.h"
#include "semantics/vop3p_float.h"
#include "semantics/vop3p_integer.h"
