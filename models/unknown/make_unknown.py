#!/usr/bin/python3
"""Two small models that data and makers decide: a detector that ends in NonMaxSuppression, whose number of boxes depends
on the picture, and a language model with an operator of its maker's own. Weights are random; call it in this folder."""
import numpy as np
from onnx import TensorProto as T, helper as H, numpy_helper, save

rng = np.random.default_rng(7)


def weight(name, *shape):
    values = rng.normal(0, 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 1), shape)
    return numpy_helper.from_array(values.astype(np.float32), name)


def constant(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def info(name, element, dims):
    return H.make_tensor_value_info(name, element, dims)


def write(name, nodes, inputs, outputs, weights, known=(), domains=()):
    graph = H.make_graph(nodes, name, inputs, outputs, weights, value_info=known)
    opsets = [H.make_opsetid('', 17)] + [H.make_opsetid(domain, 1) for domain in domains]
    model = H.make_model(graph, producer_name='make_unknown', opset_imports=opsets)
    model.ir_version = 8
    save(model, name + '.onnx')


def detector(classes=3, places=64):
    """Pictures -> boxes, scores -> the boxes that NonMaxSuppression takes, at most 5 of each class and picture."""
    node = H.make_node
    nodes = [
        node('Conv', ['image', 'w1', 'b1'], ['c1'], 'stem', strides=[2, 2], pads=[1, 1, 1, 1]),
        node('Relu', ['c1'], ['r1'], 'stem/relu'),
        node('Conv', ['r1', 'w2', 'b2'], ['c2'], 'body', strides=[2, 2], pads=[1, 1, 1, 1]),
        node('Relu', ['c2'], ['r2'], 'body/relu'),
        node('Conv', ['r2', 'w_box'], ['box_map'], 'boxes/conv'),
        node('Reshape', ['box_map', 'to_box'], ['box_rows'], 'boxes/rows'),
        node('Transpose', ['box_rows'], ['raw_boxes'], 'boxes/last', perm=[0, 2, 1]),
        node('Sigmoid', ['raw_boxes'], ['boxes'], 'boxes/sigmoid'),
        node('Conv', ['r2', 'w_score'], ['score_map'], 'scores/conv'),
        node('Reshape', ['score_map', 'to_score'], ['raw_scores'], 'scores/rows'),
        node('Sigmoid', ['raw_scores'], ['scores'], 'scores/sigmoid'),
        node('NonMaxSuppression', ['boxes', 'scores', 'most', 'overlap', 'least'], ['selected'], 'nms'),
        node('Gather', ['selected', 'places'], ['batch_and_box'], 'pick/indices', axis=1),
        node('GatherND', ['boxes', 'batch_and_box'], ['selected_boxes'], 'pick/boxes')]
    weights = [weight('w1', 16, 3, 3, 3), weight('b1', 16), weight('w2', 32, 16, 3, 3), weight('b2', 32),
               weight('w_box', 4, 32, 1, 1), weight('w_score', classes, 32, 1, 1),
               constant('to_box', [0, 4, places]), constant('to_score', [0, classes, places]), constant('most', 5),
               constant('overlap', 0.5, np.float32), constant('least', 0.25, np.float32), constant('places', [0, 2])]
    write('detector', nodes, [info('image', T.FLOAT, ['batch', 3, 32, 32])],
          [info('selected', T.INT64, ['found', 3]), info('selected_boxes', T.FLOAT, ['found', 4])], weights)


def fused_lm(layers=2, width=24, inner=96, words=101):
    """Tokens -> logits; each layer begins with com.acme.NormMatMul, a normalised input times a matrix."""
    node = H.make_node
    nodes, weights, known = [node('Gather', ['embedding', 'tokens'], ['x0'], 'embed')], [weight('embedding', words, width)], []
    for layer in range(layers):
        name = lambda part: 'layer%d/%s' % (layer, part)
        x, y = 'x%d' % layer, 'x%d' % (layer + 1)
        weights += [weight(name('gain'), width), weight(name('up'), width, inner), weight(name('down'), inner, width)]
        nodes += [node('NormMatMul', [x, name('gain'), name('up')], [name('h')], name('norm_up'), domain='com.acme',
                       epsilon=1e-5),
                  node('Tanh', [name('h')], [name('a')], name('tanh')),
                  node('MatMul', [name('a'), name('down')], [name('d')], name('down_proj')),
                  node('Add', [x, name('d')], [y], name('add'))]
        known.append(info(name('h'), T.FLOAT, ['batch', 'sequence', inner]))
    nodes.append(node('MatMul', ['x%d' % layers, 'head'], ['logits'], 'head'))
    weights.append(weight('head', width, words))
    write('fused_lm', nodes, [info('tokens', T.INT64, ['batch', 'sequence'])],
          [info('logits', T.FLOAT, ['batch', 'sequence', words])], weights, known, ['com.acme'])


detector()
fused_lm()
