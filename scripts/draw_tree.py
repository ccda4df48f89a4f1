#!/usr/bin/env python3
"""Draws the tree of an image as SVG: cordwood dump IMAGE tree --json | draw_tree.py > tree.svg

Each box is a node, filled from below as far as it is full. The colour of a leaf is the type of its
first item. Standard library only."""
import json
import sys

COLOURS = {
    'inode': '#0072b2', 'inode_ref': '#56b4e9', 'xattr': '#cc79a7', 'dir_hash': '#e69f00',
    'dir_index': '#f0e442', 'extent': '#009e73', 'orphan': '#d55e00', 'unknown': '#999999'}
WIDTH, MARGIN, GAP, BOX_HEIGHT, LEVEL_GAP = 960, 16, 2, 34, 46


def levels_of(root):
    """The nodes by level, root first, in key order; each with the index of its parent."""
    levels = [[(root, 0)]]
    while any('children' in node for node, _ in levels[-1]):
        levels.append([(child, i) for i, (node, _) in enumerate(levels[-1])
                       for child in node.get('children', [])])
    return levels


def box(node, x, y, width):
    colour = COLOURS.get(node['low']['type'], '#999999') if node['level'] == 0 else '#555555'
    filled = BOX_HEIGHT * node['fill_permille'] / 1000
    title = f"node {node['id']}, {node['count']} items, {node['fill_permille'] / 10:.1f} % full"
    return (f'<g><title>{title}</title>'
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BOX_HEIGHT}" fill="#eeeeee"/>'
            f'<rect x="{x:.1f}" y="{y + BOX_HEIGHT - filled:.1f}" width="{width:.1f}" '
            f'height="{filled:.1f}" fill="{colour}"/></g>')


def draw(tree):
    parts, centres, y = [], [], MARGIN
    for nodes in levels_of(tree['root']):
        pitch = min(64, (WIDTH - 2 * MARGIN) / len(nodes))
        width = max(pitch - GAP, pitch * 0.7)
        left = (WIDTH - pitch * len(nodes)) / 2
        here = []
        for i, (node, parent) in enumerate(nodes):
            x = left + i * pitch
            here.append(x + width / 2)
            if centres:
                parts.append(f'<line x1="{centres[parent]:.1f}" y1="{y - LEVEL_GAP}" '
                             f'x2="{here[-1]:.1f}" y2="{y}" stroke="#bbbbbb" stroke-width="0.6"/>')
            parts.append(box(node, x, y, width))
        centres = here
        y += BOX_HEIGHT + LEVEL_GAP
    x = MARGIN
    for name in ('dir_hash', 'dir_index', 'inode', 'inode_ref', 'extent', 'xattr'):
        parts.append(f'<rect x="{x}" y="{y - 24}" width="12" height="12" fill="{COLOURS[name]}"/>'
                     f'<text x="{x + 17}" y="{y - 14}">{name}</text>')
        x += 110
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
            f'viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="12">'
            f'<rect width="{WIDTH}" height="{y}" fill="white"/>' + ''.join(parts) + '</svg>')


if __name__ == '__main__':
    print(draw(json.load(sys.stdin)))
