# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Small ARFF files, dense and sparse, for the tests."""

DENSE = """% a comment
@relation 'things: -C -2'

@attribute size numeric
@attribute 'odd name' {0,1}
@ATTRIBUTE colour {red,green,'deep blue'}
@attribute cup {0,1}
@attribute cat {0,1}
@data
0.5,1,red,1,0
-2e-3,0,'deep blue',0,0
% between
7,1,green,1,1
"""

SPARSE = """@relation things
@attribute a numeric
@attribute b {0,1}
@attribute cup {0,1}
@attribute cat {0,1}
@data
{0 2.5,2 1}
{}
{3 1,1 1}
"""

XML = '<labels xmlns="x"><label name="cup"><label name="cat"/></label></labels>'


def write(path, text):
    path.write_text(text)
    return path
