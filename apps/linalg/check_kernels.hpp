// The tasks of checks: tiles times segments of vectors of doubles.
#pragma once

#include "linalg/application.hpp"
#include "linalg/application_data.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

// Parameter of `stored`.
struct TileForm {
  Part part = Part::whole;
  bool transposed = false;
  bool diagonal = false;  // on the diagonal of the matrix
};

// Parameter of `generated`.
struct GeneratedTile {
  GeneratedPart part;
  TileForm form;
};

// Parameter of `reflected`.
struct TileReflection {
  Reflectors of = Reflectors::of_tile;
  Factor by = Factor::q;
};

// y += A x for one tile A and segments x and y; the sum of the squares of A's elements is added to the element
// behind y, if A is not transposed. The sums over the tile are made apart, so an element of y suffers one rounding
// per element of the tile's row and one per tile.
//   stored     R A, R x, RW y    the tile is there
//   generated  R x, RW y         it is made anew, column by column
// Of a mirrored tile off the diagonal R x', RW y' follow: y' += A^T x', and the squares count twice.
//   reflected  R V, R T, RW z_i or RW z_p and RW z_i    Q z or Q^T z, of the rows of one tile or of two; parameter:
//              TileReflection
//   undone     R A_ik or L_kk, R L_ik or L_kk, R p, RW z_k and, for tstrf, RW z_i    what CheckUndo says
struct CheckCodelets {
  Codelet stored;
  Codelet generated;
  Codelet reflected;
  Codelet undone;
};
const CheckCodelets& check_codelets(Precision precision);  // constants

}  // namespace vicinal::linalg
