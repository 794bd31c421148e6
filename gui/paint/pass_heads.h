// SPDX-License-Identifier: Apache-2.0
// Heads above time: forward, backward, update, in their colours, and names of layers below it.
#pragma once

#include <QPainter>
#include <string>

namespace superstep::gui {

// The whole word where it has room, else a short one, else the colour alone.
void draw_pass_head(QPainter& painter, const QRectF& rect, const std::string& pass);
QString short_pass(const std::string& pass);       // "fwd"
std::string short_layer(const std::string& name);  // of what is before the first "/": "layer19" is "L19"

}  // namespace superstep::gui
