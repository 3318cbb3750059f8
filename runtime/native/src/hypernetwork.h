// The hypernetwork: reads a sample, writes the critic (hypernetwork.py; paper, section 3.1).
#pragma once

#include "critic.h"

namespace infoatlas::INFOATLAS_TARGET {

Theta hypernetwork(const Model& model, const Sample& sample, const Crew& crew, Arena& arena);

}  // namespace infoatlas::INFOATLAS_TARGET
