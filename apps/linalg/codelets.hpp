// The code of the tasks of all dense applications.
#pragma once

#include <string_view>

#include "linalg/tile_grid.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

// What the tasks of a kernel of an application run: the codelet "lu.gemm" if there is one, else "gemm". Machine files
// and learned run times know codelets by their names. `flops`: of one task.
// Kernels take the operands in the order of the tasks' accesses and TaskIndex for their parameter.
//   cholesky  potrf   RW A_kk                    L_kk with L_kk L_kk^T = A_kk; zeroes above the diagonal
//             trsm    R L_kk, RW A_ik            A_ik L_kk^-T
//             syrk    R L_ik, RW A_ii            A_ii - L_ik L_ik^T, lower triangle
//             gemm    R L_ik, R L_jk, RW A_ij    A_ij - L_ik L_jk^T
//   lu        getrf   RW A_kk                    L_kk below the diagonal of ones, U_kk on and above it
//             trsm    R A_kk, RW A_kj            L_kk^-1 A_kj
//             trsm    R A_kk, RW A_ik            A_ik U_kk^-1
//             gemm    R A_ik, R A_kj, RW A_ij    A_ij - A_ik A_kj
//   lu-incpiv getrf   W L_kk, W p_k, RW A_kk   U_kk on and above the diagonal, L_kk below its diagonal of ones
//             gessm   R L_kk, R p_k, RW A_kj   L_kk^-1 P_k A_kj
//             tstrf   RW A_kk, W L_ik, W p_ik, RW A_ik            the factors of U_kk above A_ik
//             ssssm   R A_ik, R L_ik, R p_ik, RW A_kj, RW A_ij    what tstrf has done, to A_kj above A_ij
//   qr        geqrt   W V_ik, W T_ik, RW A_ik   R on and above the diagonal, reflectors below it; V_ik = A_ik
//             ormqr   R V_ik, R T_ik, RW A_ij   Q^T A_ij, of geqrt
//             tsqrt   RW A_kk, W T_ik, RW A_ik                  the triangle R of A_kk above A_ik: R', reflectors
//             tsmqr   R A_ik, R T_ik, RW A_kj, RW A_ij          Q^T (A_kj above A_ij), of tsqrt
//             ttqrt, ttmqr    the same of the triangle of A_pk above that of A_ik, of A_pj above A_ij
//   gemm2d    gemm2d  R A_i, R B_j, W C_ij       A_i B_j
//   gemm3d    gemm    R A_ik, R B_kj, RW C_ij    C_ij + A_ik B_kj
// potrf and getrf throw TaskError, naming tile and row, if a pivot is not positive or 0. Throws
// std::invalid_argument if there is no code.
Codelet codelet_of(std::string_view application, std::string_view kernel, Precision precision,
                   double flops);

}  // namespace vicinal::linalg
