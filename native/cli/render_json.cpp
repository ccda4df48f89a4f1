#include "cli/render_json.hpp"

#include <string_view>

#include "cli/text.hpp"

namespace cordwood::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t kLineBytes = 100;

std::string line_of(const json::value& value);

std::string scalar_text(const json::value& value) {
  if (value.is_string()) return printable({value.get_string().data(), value.get_string().size()});
  if (value.is_null()) return "-";
  if (value.is_bool()) return value.get_bool() ? "yes" : "no";
  return json::serialize(value);
}

std::string line_of_object(const json::object& object) {
  std::string line;
  for (const auto& [key, value] : object) {
    if (!line.empty()) line += ", ";
    const std::string text = line_of(value);
    line += std::string(key) + " ";
    line += value.is_object() ? "(" + text + ")" : text;
  }
  return line;
}

std::string line_of_array(const json::array& array) {
  if (array.empty()) return "none";
  std::string line;
  for (const json::value& element : array) {
    if (!line.empty()) line += element.is_object() ? "; " : " ";
    const std::string text = line_of(element);
    line += element.is_array() ? "[" + text + "]" : text;
  }
  return line;
}

/// The whole value on one line. Descriptions are nested no deeper than a tree has levels.
std::string line_of(const json::value& value) {
  if (value.is_object()) return line_of_object(value.get_object());
  if (value.is_array()) return line_of_array(value.get_array());
  return scalar_text(value);
}

/// Whether a value is small by its shape; its line may still be too long.
bool may_be_line(const json::value& value) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.get_object()) {
      if (inner.is_array() && !inner.get_array().empty() && inner.get_array()[0].is_object()) {
        return false;
      }
      if (inner.is_object() && !may_be_line(inner)) return false;
    }
    return true;
  }
  if (value.is_array()) {
    return value.get_array().size() <= 16 &&
           (value.get_array().empty() || !value.get_array()[0].is_object());
  }
  return true;
}

void render_into(std::string& text, const json::value& value, std::size_t indent);

/// Puts a value behind its name, or below it.
void render_field(std::string& text, std::string_view name, const json::value& value,
                  std::size_t indent) {
  text.append(indent, ' ').append(name);
  if (may_be_line(value)) {
    const std::string line = line_of(value);
    if (indent + name.size() + line.size() < kLineBytes ||
        !(value.is_object() || value.is_array())) {
      text.append(" ").append(line).append("\n");
      return;
    }
  }
  text += "\n";
  render_into(text, value, indent + 2);
}

void render_into(std::string& text, const json::value& value, std::size_t indent) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.get_object()) {
      render_field(text, {key.data(), key.size()}, inner, indent);
    }
  } else if (value.is_array()) {
    for (const json::value& element : value.get_array()) render_field(text, "-", element, indent);
  } else {
    text.append(indent, ' ').append(scalar_text(value)).append("\n");
  }
}

}  // namespace

std::string render(const json::value& value) {
  std::string text;
  render_into(text, value, 0);
  return text;
}

}  // namespace cordwood::cli
