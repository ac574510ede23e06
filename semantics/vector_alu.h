// Every body that works on one chunk of lanes without looking at other chunks: VOP1, VOP2, VOPC, VOP3,
// VOP3SD, VINTERP.
#pragma once

#include "semantics/vinterp.h"
#include "semantics/vop1_convert.h"
#include "semantics/vop1_float.h"
#include "semantics/vop1_integer.h"
#include "semantics/vop1_transcendental.h"
#include "semantics/vop2_float.h"
#include "semantics/vop2_integer.h"
#include "semantics/vop3_bits.h"
#include "semantics/vop3_convert.h"
#include "semantics/vop3_division.h"
#include "semantics/vop3_float.h"
#include "semantics/vop3_int16.h"
#include "semantics/vop3_integer.h"
#include "semantics/vop3_sad.h"
#include "semantics/vopc.h"
