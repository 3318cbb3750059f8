#include "motion.h"

#include <algorithm>
#include <cmath>

namespace infoatlas::follow {
namespace {

constexpr double PI = 3.141592653589793;

template <size_t N>
double norm(const std::array<double, N>& v) {
  double square = 0;
  for (const double x : v) square += x * x;
  return std::sqrt(square);
}

template <size_t N>
std::array<double, N> unit(std::array<double, N> v) {
  const double size = norm(v);
  for (double& x : v) x /= size > 0 ? size : 1.0;
  return v;
}

Quaternion multiply(const Quaternion& a, const Quaternion& b) {
  const auto [aw, ax, ay, az] = a;
  const auto [bw, bx, by, bz] = b;
  return {aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by,
          aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw};
}

// Rotation vector of a^-1 b, of norm at most pi.
Triple between(const Quaternion& a, const Quaternion& b) {
  const auto [w, x, y, z] = multiply({a[0], -a[1], -a[2], -a[3]}, b);
  const double sine = norm(Triple{x, y, z}), angle = 2 * std::atan2(sine, std::abs(w));
  const double size = sine > 0 ? angle / sine : 2.0, factor = w < 0 ? -size : size;
  return {factor * x, factor * y, factor * z};
}

Quaternion exponential(const Triple& v) {
  const double angle = norm(v), factor = angle > 0 ? std::sin(angle / 2) / angle : 0.5;
  return {std::cos(angle / 2), factor * v[0], factor * v[1], factor * v[2]};
}

Quaternion of_euler(const Triple& v) {
  const auto about = [&](size_t axis) {
    Quaternion q{std::cos(v[axis]), 0, 0, 0};
    q[axis + 1] = std::sin(v[axis]);
    return q;
  };
  return multiply(about(2), multiply(about(1), about(0)));
}

// Of a rotation matrix with rows a, b, c, from the largest of the four components.
Quaternion of_matrix(const Triple& a, const Triple& b, const Triple& c) {
  const double xx = a[0], yy = b[1], zz = c[2];
  const double x = c[1] - b[2], y = a[2] - c[0], z = b[0] - a[1];
  const double xy = b[0] + a[1], xz = a[2] + c[0], yz = b[2] + c[1];
  const Quaternion rows[] = {{1 + xx + yy + zz, x, y, z},
                             {x, 1 + xx - yy - zz, xy, xz},
                             {y, xy, 1 - xx + yy - zz, yz},
                             {z, xz, yz, 1 - xx - yy + zz}};
  size_t best = 0;
  for (size_t i = 1; i < 4; ++i)
    if (rows[i][i] > rows[best][best]) best = i;
  return unit(rows[best]);
}

Quaternion of_six(const Triple& v, const Triple& w) {
  const Triple a = unit(v);
  const double shared = a[0] * w[0] + a[1] * w[1] + a[2] * w[2];
  const Triple b = unit(Triple{w[0] - shared * a[0], w[1] - shared * a[1], w[2] - shared * a[2]});
  const Triple c{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  return of_matrix({a[0], b[0], c[0]}, {a[1], b[1], c[1]}, {a[2], b[2], c[2]});
}

// The values [size] of a group that can be a measurement, and not zeros or -9999.
bool valid(const Group& group, const double* v) {
  const size_t size = group.columns.size();
  if (group.kind == Kind::ANGLE || group.kind == Kind::VECTOR || group.kind == Kind::EULER) {
    const double limit = (group.kind == Kind::ANGLE ? 20.0 : 2.0) * group.turn;
    return std::all_of(v, v + size, [&](double x) { return std::abs(x) <= limit; });
  }
  const auto measured = [](double size) { return size > 0.5 && size < 2.0; };
  if (group.kind == Kind::QUATERNION) return measured(norm(Quaternion{v[0], v[1], v[2], v[3]}));
  for (size_t i = 0; i < size; i += 3)
    if (!measured(norm(Triple{v[i], v[i + 1], v[i + 2]}))) return false;
  return true;
}

Quaternion quaternion(const Group& group, const double* v) {
  const auto triple = [&](size_t i, double factor) -> Triple {
    return {v[i] * factor, v[i + 1] * factor, v[i + 2] * factor};
  };
  switch (group.kind) {
    case Kind::QUATERNION: return unit(Quaternion{v[0], v[1], v[2], v[3]});
    case Kind::VECTOR: return exponential(triple(0, 2 * PI / group.turn));
    case Kind::EULER: return of_euler(triple(0, PI / group.turn));
    case Kind::MATRIX: return of_matrix(triple(0, 1), triple(3, 1), triple(6, 1));
    default: return of_six(triple(0, 1), triple(3, 1));
  }
}

}  // namespace

void Path::turn(const Group& group, const double* state, State& own) {
  double v[9];
  for (size_t i = 0; i < group.columns.size(); ++i) v[i] = state[group.columns[i]];
  if (!valid(group, v)) return;
  if (group.kind == Kind::ANGLE) {
    if (own.begun) own.turns += std::nearbyint((v[0] - own.last[0]) / group.turn);
    own.last[0] = v[0];
    own.path[0] = v[0] - group.turn * own.turns;
  } else {
    const Quaternion q = quaternion(group, v);
    const Triple step = between(own.last, q);
    for (size_t i = 0; own.begun && i < 3; ++i) own.path[i] += step[i];
    own.last = q;
  }
  own.begun = true;
}

void Path::push(const double* state, double* made) {
  for (size_t g = 0; g < groups_.size(); ++g) turn(own_.groups[g], state, groups_[g]);
  for (const Source& part : own_.parts)
    *made++ = part.group < 0 ? state[part.axis]
                             : groups_[static_cast<size_t>(part.group)]
                                   .path[static_cast<size_t>(part.axis)];
}

double compressed(double v) { return std::copysign(std::log1p(std::abs(v)), v); }

StepFeatures::StepFeatures(const Features& features)
    : own_(features),
      energy_(features.columns.size() *
              static_cast<size_t>(features.widest.before + features.widest.after + 1)),
      made_(static_cast<size_t>(features.count())) {}

const double* StepFeatures::compute(Ring<double>& recent, int64_t newest,
                                    int64_t length) {
  const size_t q = own_.columns.size();
  const auto x = [&](int64_t t) { return recent[newest - length + 1 + t]; };
  const auto energy = [&](int64_t t) { return energy_.data() + static_cast<size_t>(t) * q; };
  std::fill_n(energy(0), q, 0.0);
  for (int64_t t = 1; t < length; ++t)
    for (size_t i = 0; i < q; ++i) {
      const double step = x(t)[own_.columns[i]] - x(t - 1)[own_.columns[i]];
      energy(t)[i] = energy(t - 1)[i] + step * step;
    }
  const int64_t at = length - 1 - own_.widest.after;
  double* made = made_.data();
  for (const Window& window : own_.windows) {
    const int64_t first = std::max<int64_t>(at - window.before, 0), last = at + window.after;
    const bool few = at - first < std::min(own_.fewest, window.before);
    const auto past = static_cast<double>(std::max<int64_t>(at - first, 1));
    const auto next = static_cast<double>(window.after);
    for (size_t i = 0; i < q; ++i) {
      const int64_t column = own_.columns[i];
      const double ratio = ((energy(last)[i] - energy(at)[i]) / next + own_.rest[i]) /
                           ((energy(at)[i] - energy(first)[i]) / past + own_.rest[i]);
      const double here = x(at)[column], scale = own_.scale[i], weight = own_.weight[i];
      const double before = here - x(first)[column], after = x(last)[column] - here;
      made[i] = few ? 0.0 * weight : clipped(0.5 * std::log(ratio), own_.clip) / 2 * weight;
      made[q + i] = compressed(before / static_cast<double>(window.before) / scale) * weight;
      made[2 * q + i] = compressed(after / next / scale) * weight;
    }
    made += 3 * q;
  }
  for (size_t i = 0; i < q; ++i)
    made[i] = (x(at)[own_.columns[i]] - own_.centre[i]) * own_.gain[i];
  return made_.data();
}

}  // namespace infoatlas::follow
