// The grammar of the tile language for tree-sitter. What is a line's end, and whether `//` divides, is decided in src/scanner.c.

// Binding strengths, loosest first, as parser/expr.go has them.
const level = { lambda: 1, or: 2, and: 3, not: 4, compare: 5, bitOr: 6, bitXor: 7, bitAnd: 8, shift: 9, sum: 10, product: 11, as: 12, unary: 13, power: 14, postfix: 15 };

const list = (item) => optional(list1(item));
const list1 = (item) => seq(item, repeat(seq(",", item)), optional(","));
const items = (item) => seq(item, repeat(seq(",", item)));

module.exports = grammar({
  name: "tile",

  externals: ($) => [$._newline, $.comment, $.doc_comment, "//", "(", ")", "[", "]"],
  extras: ($) => [/\s/, "\ufeff", $.comment, $.doc_comment],
  word: ($) => $.identifier,

  rules: {
    source_file: ($) => optional(seq($._declaration, repeat(seq($._newline, $._declaration)))),

    _declaration: ($) => seq(repeat(seq($.attribute, optional($._newline))),
      choice($.import, $.constant, $.function, $.kernel, $.struct, $.graph, $.test)),
    attribute: ($) => prec.right(seq("@", field("name", $.identifier), optional($.arguments))),

    import: ($) => seq("import", field("path", $.string)),
    constant: ($) => seq("const", field("name", $._name), "=", field("value", $._expression)),
    function: ($) => seq("fn", field("name", $._name), optional($.generics), $.parameters, optional(seq("->", field("result", $.type))),
      choice(seq("=", field("value", $._expression)), field("body", $.block))),
    kernel: ($) => seq("kernel", field("name", $._name), optional($.generics), $.parameters, optional(seq("->", $.outputs)),
      repeat(choice($.tune, $.grid)), field("body", $.block)),
    graph: ($) => seq("graph", field("name", $._name), optional($.generics), $.parameters, optional(seq("->", $.outputs)), field("body", $.block)),
    struct: ($) => seq("struct", field("name", $._name), optional($.generics), "{",
      optional(seq($.field, repeat(seq(choice(",", $._newline, seq(",", $._newline)), $.field)), optional(","))), "}"),
    test: ($) => seq("test", field("name", $.string), field("body", $.block)),

    generics: ($) => seq("<", items($.generic), ">"),
    generic: ($) => seq(optional("const"), field("name", $._name), ":", field("bound", $._name), optional(seq("=", field("default", $._sum)))),
    parameters: ($) => seq("(", list($.parameter), ")"),
    outputs: ($) => choice(seq("(", list($.parameter), ")"), items($.parameter)),
    parameter: ($) => seq(optional(choice("out", "inout")), optional("axis"), field("name", $._name),
      optional(seq(":", field("type", $.type))), optional(seq("=", field("default", $._expression)))),
    field: ($) => seq(field("name", $._name), ":", field("type", $.type), repeat($.attribute)),
    type: ($) => seq(optional(seq("[", field("count", $._expression), "]")), field("name", $._name),
      optional(seq("<", items($.type), ">")), optional($.shape)),
    shape: ($) => seq("[", list($._expression), "]"),

    tune: ($) => seq("tune", items($.choices)),
    choices: ($) => seq(field("name", $._name), choice(seq("in", "{", list1($._expression), "}"), seq("=", $._expression))),
    grid: ($) => seq("grid", items($.walk)),
    // An axis, or a position, and the dimension that it walks.
    walk: ($) => seq(field("name", $._name), "in", field("dimension", $._expression), optional(seq("by", field("extent", $._expression)))),

    block: ($) => seq("{", optional(seq($._statement, repeat(seq($._newline, $._statement)))), "}"),
    _statement: ($) => choice($.let, $.axis, $.check, $.state, $.assignment, $._expression),
    let: ($) => seq("let", $._names, "=", field("value", $._expression)),
    _names: ($) => choice(field("name", $._name), seq("(", list1(field("name", $._name)), ")")),
    axis: ($) => seq("axis", $.walk),
    check: ($) => prec(1, seq("check", items($._argument))),
    state: ($) => seq("inout", field("name", $.identifier), "=", field("value", $._expression)),
    assignment: ($) => seq(field("target", choice($._name, $.index)), "=", field("value", $._expression)),

    _expression: ($) => choice($.lambda, alias($._or, $.binary), alias($._and, $.binary), alias($._not, $.unary), alias($._comparison, $.binary), $._sum),
    lambda: ($) => prec.right(level.lambda, seq(field("parameters", choice($._name, $.tuple)), "=>", field("body", choice($._expression, $.block)))),
    _or: ($) => prec.left(level.or, seq($._condition, "or", $._condition)),
    _and: ($) => prec.left(level.and, seq($._condition, "and", $._condition)),
    _not: ($) => prec(level.not, seq("not", $._condition)),
    _comparison: ($) => prec.left(level.compare, seq($._sum, choice("==", "!=", "<", "<=", ">", ">="), $._sum)),
    // What `and`, `or` and `not` join: all but a lambda.
    _condition: ($) => choice(alias($._or, $.binary), alias($._and, $.binary), alias($._not, $.unary), alias($._comparison, $.binary), $._sum),
    // What binds tighter than a comparison, so that `>` may follow.
    _sum: ($) => choice($.binary, $.unary, $.cast, $._postfix),
    binary: ($) => choice(
      ...[["|", level.bitOr], ["^", level.bitXor], ["&", level.bitAnd], ["<<", level.shift], [">>", level.shift], ["+", level.sum], ["-", level.sum],
        ["*", level.product], ["/", level.product], ["//", level.product], ["%", level.product]].map(([op, l]) => prec.left(l, seq($._sum, op, $._sum))),
      prec.right(level.power, seq($._sum, "**", $._sum))),
    unary: ($) => prec(level.unary, seq(choice("-", "~"), $._sum)),
    cast: ($) => prec.left(level.as, seq($._sum, "as", field("type", $._name))),

    _postfix: ($) => choice($._name, $.integer, $.float, $.string, $.true, $.false, $.tuple, $.list, $.if, $.for, $.call, $.index, $.member, $.key),
    call: ($) => prec.right(level.postfix, seq(field("function", $._postfix), $.arguments, optional($._otherwise))),
    index: ($) => prec.right(level.postfix, seq(field("of", $._postfix), "[", list(choice($._expression, $.range)), "]", repeat($.attribute),
      optional(seq($._otherwise, repeat($.attribute))))),
    member: ($) => prec(level.postfix, seq(field("of", $._postfix), ".", field("name", $._name))),
    // A key of a checkpoint's configuration, with what it is where there is none.
    key: ($) => prec.right(level.postfix, seq($.string, $._otherwise)),
    _otherwise: ($) => prec.right(level.unary, seq("else", field("otherwise", $._sum))),
    range: ($) => seq(optional($._expression), "..", optional($._expression)),
    tuple: ($) => seq("(", list($._expression), ")"),
    list: ($) => seq("[", list($._expression), "]"),
    if: ($) => prec.right(seq("if", field("condition", $._expression), $.block, optional(seq("else", choice($.block, $.if))))),
    for: ($) => seq("for", $.walk, optional(seq("with", $._names, "=", field("initial", $._expression))), field("body", $.block)),

    arguments: ($) => seq("(", list($._argument), ")"),
    _argument: ($) => choice($.over, $.named, $.map, $._expression),
    over: ($) => seq("over", choice($._name, seq("(", list1($._name), ")"))),
    named: ($) => seq(field("name", $._name), "=", field("value", choice($._expression, $.map))),
    map: ($) => seq($._expression, "->", $._expression),

    // Words with a meaning in one place only may be names elsewhere.
    _name: ($) => choice($.identifier, alias(choice("out", "inout"), $.identifier)),
    identifier: () => /[\p{L}_][\p{L}\p{Nd}\p{Mn}_]*/,
    integer: () => token(choice(/[0-9][0-9_]*/, /0[xX][0-9a-fA-F_]+/, /0[oO][0-7_]+/, /0[bB][01_]+/)),
    float: () => token(choice(/[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9][0-9_]*)?/, /[0-9][0-9_]*[eE][+-]?[0-9][0-9_]*/)),
    string: () => /"([^"\\\r\n]|\\.)*"/,
    true: () => "true",
    false: () => "false",
  },
});
