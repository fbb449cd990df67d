"""What is known to be hard to take: deep, endless, exponential, or half of something."""

from __future__ import annotations

import base64
import random
from typing import Any

import msgspec
from tests.apiserver.test_custom_resources import DEFINITION

from trimtab.apiserver.protobuf.encoding import to_protobuf

DEEP = (50, 900, 9_999, 100_000, 1_000_000)
AS = "a" * 50_000


def _nested(begin: str, end: str, depth: int, inner: str = "1") -> str:
    return begin * depth + inner + end * depth


def json_body(dice: random.Random) -> bytes:
    depth = dice.choice(DEEP)
    name = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":'
    made = dice.choice(
        [
            _nested("[", "]", depth),
            "[" * depth,
            _nested('{"a":', "}", depth),
            name + _nested('{"a":', "}", depth) + "}",
            name + _nested("[", "]", depth) + "}",
            name + "{" + ",".join(f'"k{n}":"v"' for n in range(depth // 10)) + "}}",
            name + '{"k":"' + "x" * depth + '"}}',
            name + '{"k":' + "9" * min(depth, 100_000) + "}}",
            name + '{"k":1e' + "9" * min(depth, 100_000) + "}}",
            '{"metadata":' + ",".join(['{"name":"a"}'] * min(depth, 1000)) + "}",
            '{"metadata":{"name":"a","labels":{' + ",".join(['"a":"b"'] * min(depth, 10_000)) + "}}}",
            '"' + "\\ud800" * min(depth, 10_000) + '"',
            " " * depth,
            "\ufeff{}",
            "{}" * min(depth, 1000),
        ]
    )
    return made.encode("utf-8", "surrogatepass")


_LAUGHS = "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
YAML = [
    f"a0: &a0 lol\n{_LAUGHS}\nmetadata: {{name: a}}\ndata: *a11\n",
    "a: &a [*a]\n",
    "a: &a {b: *a}\n",
    "metadata: &m {name: a, labels: *m}\n",
    "<<: [*x]\n",
    "a: &a {x: y}\nmetadata: {<<: *a, name: a}\n",
    "<<: {<<: {<<: 1}}\n",
    "!!python/object/apply:os.system [true]\n",
    "metadata: !!binary aGFsbG8=\n",
    "metadata: !!set {a, b}\n",
    "metadata: !!omap [a: b]\n",
    "a: !!int 0x" + "f" * 20_000 + "\n",
    "a: " + "1:" * 20_000 + "1\n",
    "a: 0b" + "1" * 20_000 + "\n",
    "a: 1e999999999\n",
    "a: [.inf, -.inf, .nan, ~, 1_000, 0o17, 017, 2001-01-01, 2001-13-45, 12:30:45]\n",
    "? [a, b]\n: c\n",
    "? {a: b}\n: c\n",
    "1: a\ntrue: b\nnull: c\n1.5: d\n2001-01-01: e\n",
    "--- a\n--- b\n...\n",
    "%YAML 9.9\n---\na: b\n",
    "%TAG ! !!\n---\n!x a\n",
    "a: 'b\n",
    "a: |\n\tb\n",
    "\ta: b\n",
    "- " * 3_000 + "a\n",
    "a: b: c\n",
    "metadata: {name: a}\nmetadata: {name: b}\n",
    "&" + "a" * 10_000 + " x\n",
    'a: "\\ud800\\x00"\n',
    "\x00\x01",
    "@a: `b`\n",
]


def yaml_body(dice: random.Random) -> bytes:
    depth = dice.choice(DEEP[:4])
    begin, end = dice.choice([("[", "]"), ("{a: ", "}"), ("{? ", "}"), ("- ", "")])
    made = dice.choice([dice.choice(YAML), dice.choice(YAML), _nested(begin, end, depth), begin * depth])
    return made.encode("utf-8", "surrogatepass")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _part(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _unknown(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\x00" + _part(1, _part(1, api_version.encode()) + _part(2, kind.encode())) + _part(2, raw)


def protobuf_body(dice: random.Random, right: bytes) -> bytes:
    """From the JSON of an object that is right."""
    kind = dice.random()
    if kind < 0.3:
        raw = b""
        number = dice.choice([1, 2, 3, 4, 11, 15, 18, 2000])
        for _ in range(dice.choice([10, 1_000, 10_000])):
            raw = _part(number, raw)
            if len(raw) > 1 << 20:
                break
        api_version, name = dice.choice(
            [
                ("v1", "Pod"),
                ("v1", "ConfigMap"),
                ("v1", "DeleteOptions"),
                ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
                ("apps/v1", "Deployment"),
                ("autoscaling/v1", "Scale"),
                ("", ""),
                ("x/v1", "X"),
            ]
        )
        return _unknown(api_version, name, raw)
    if kind < 0.4:
        odd = [b"\xff" * 12, b"\x0a\xff\xff\xff\xff\x0f", b"\x0b\x0c", b"\x0d\x01", b"\x09\x01", b"\x00\x00", b"\x12"]
        return b"k8s\x00" + b"".join(dice.choices(odd, k=3))
    try:
        made = bytearray(to_protobuf(right))
    except Exception:  # noqa: BLE001 - what it stands for has no form in protobuf: then its bytes are as good as any
        made = bytearray(b"k8s\x00" + right)
    for _ in range(dice.randrange(4)):
        place = dice.randrange(4, len(made))
        made[place] = dice.randrange(256)
    if dice.random() < 0.2:
        del made[dice.randrange(4, len(made)) :]
    return bytes(made)


def expression(dice: random.Random) -> str:
    """CEL that is deep, wide, wrong, or costs much."""
    depth = dice.choice([3, 40, 300, 20_000])
    every = "self.all(x, " * min(depth, 12) + "true" + ")" * min(depth, 12)
    mapped = "[1,2,3,4,5,6,7,8,9]"
    for _ in range(min(depth, 9)):
        mapped = f"[1,2,3,4,5,6,7,8,9].map(x, {mapped})"
    replaced = "'aaaaaaaaaa'"
    for _ in range(min(depth, 30)):
        replaced = f"{replaced}.replace('a', 'aaaaaaaaaa')"
    bound = "'a'"
    for number in range(min(depth, 60)):
        bound = f"cel.bind(x{number}, {bound}, x{number} + x{number})"
    return dice.choice(
        [
            _nested("(", ")", depth, "true"),
            "!" * depth + "true",
            "-" * depth + "1 < 0",
            _nested("[", "]", depth) + " == []",
            _nested("{'a': ", "}", min(depth, 300)) + " == {}",
            "true" + " && true" * depth,
            "true" + " ? true : true" * min(depth, 300),
            "'" + "x" * depth + "' == ''",
            "self" + ".a" * depth,
            "self" + "[0]" * depth,
            "self" + ".?a" * min(depth, 300) + ".hasValue()",
            every,
            f"{mapped} == []",
            f"{replaced} == ''",
            f"{bound} == ''",
            "[" + "1," * depth + "1].exists(x, x == 2)",
            "'" + AS[:depth] + "!'.matches('^(a+)+$')",
            f"'a'.matches('{regex(dice)}')",
            f"'a'.find('{regex(dice)}') == ''",
            "9223372036854775807 + 1 > 0",
            "-9223372036854775808 / -1 > 0",
            "1 / 0 == 1",
            "1 % 0 == 1",
            "1.0 / 0.0 > 1e308 * 10.0",
            "99999999999999999999 == 1",
            "0xffffffffffffffffff == 1u",
            "int(1e300) == 1",
            "int('" + "9" * 5000 + "') == 1",
            "double('1e" + "9" * 50 + "') > 0.0",
            "'%1000000000d'.format([1]) == ''",
            "'%.1000000000f'.format([1.0]) == ''",
            "'%s%s%s'.format([1]) == ''",
            "'" + "%s" * min(depth, 1000) + "'.format([]) == ''",
            "timestamp('9999-99-99T00:00:00Z') > timestamp('0000-01-01T00:00:00Z')",
            "timestamp('9999-12-31T23:59:59Z') + duration('1000000h') > timestamp('2000-01-01T00:00:00Z')",
            "duration('99999999999999999999h') > duration('1ns')",
            "timestamp('2000-01-01T00:00:00Z').getHours('../../etc/passwd') == 1",
            "quantity('1e999999999').isGreaterThan(quantity('1'))",
            "quantity('" + "9" * 5000 + "').add(1).asInteger() == 1",
            "'a'.split('', -1).size() == 1",
            "'" + "a" * min(depth, 5000) + "'.split('').map(x, x + x).join('').size() > 0",
            "lists.range(1000000000).size() > 0",
            "[[1]].flatten(-1) == []",
            "ip('999.1.1.1').isLoopback()",
            "cidr('::/129').prefixLength() == 1",
            "url('http://[::1').getHost() == ''",
            "semver('1.0.0-" + "a." * 1000 + "').major() == 1",
            "format.dns1123Label().validate('x').hasValue()",
            "base64.decode('!').size() == 1",
            "b'\\xff' == b''",
            "string(b'\\xff') == ''",
            "'\\ud800' == ''",
            "\"\x00\" == ''",
            "self == oldSelf",
            "has(self.a[0])",
            "has(self)",
            "self.all(self, self)",
            "[1].all(x, [2].all(x, x == 2))",
            "type(self) == type",
            "dyn(self).x.y.z()",
            "{1: 2, '1': 3, 1u: 4, true: 5}.size() == 4",
            "google.protobuf.Struct{} == {}",
            "self.map(x, x).map(x, x) == self.filter(x, false)",
            "sets.contains([1,2], [dyn('a')])",
            "math.greatest([]) == 1",
            "'a'.charAt(-1) == ''",
            "'a'.substring(2, 1) == ''",
            "'a'.lastIndexOf('', 99) == 1",
            "optional.none().value()",
            "authorizer.group('').resource('pods').check('get').allowed()",
            "variables.x.y == 1",
            "object.metadata.name.matches(object.metadata.name)",
            "/*",
            "//",
            "'",
            '"""',
            "\\",
            "",
            " ",
            "in in in",
            "`a`",
            "a.`b`",
        ]
    )


def regex(dice: random.Random) -> str:
    """Patterns that cost much, or are none."""
    depth = dice.choice([3, 300, 1_100, 20_000])
    return dice.choice(
        [
            "^(a+)+$",
            "^(a|aa)+$",
            "(a*)*b",
            "(?:(?:(?:a*)*)*)*$",
            "(?=a)",
            "(?<=a)b",
            "(a)\\1",
            "[",
            "(",
            ")",
            "a{1000}",
            "a{1001}",
            "(a{1000}){1000}",
            "((a{100}){100}){100}",
            "a{2,1}",
            "a**",
            "(?P<n>a)(?P<n>b)",
            "(?i)" + "a" * depth,
            "\\pZ\\p{Greek}\\p{Nope}",
            "[[:nope:]]",
            "[b-a]",
            "\\",
            "\\x{110000}",
            "\x00",
            _nested("(", ")", depth, "a"),
            "|".join("ab" * 3 for _ in range(depth)),
            "x" * depth,
            "(?s).*" * min(depth, 300),
            "^" + "a?" * min(depth, 2000) + "a" * min(depth, 2000) + "$",
        ]
    )


def schema(dice: random.Random) -> Any:
    """Of a custom resource: deep, wide, or contradictory."""
    depth = dice.choice([3, 60, 400, 3_000])
    deep: Any = {"type": "string"}
    for _ in range(depth):
        deep = {"type": "object", "properties": {"a": deep}}
    lists: Any = {"type": "string"}
    for _ in range(min(depth, 400)):
        lists = {"type": "array", "items": lists}
    either: Any = {"required": ["a"]}
    for _ in range(min(depth, 400)):
        either = {dice.choice(["anyOf", "allOf", "oneOf"]): [either, either]} if _ < 8 else {"not": either}
    rule = {"rule": expression(dice), "message": "m"}
    value: Any = 1
    for _ in range(depth):
        value = [value]
    spec: Any = dice.choice(
        [
            deep,
            lists,
            {"type": "object", **either},
            {"type": "string", "pattern": regex(dice)},
            {"type": "string", "format": dice.choice(["date-time", "byte", "ipv4", "regex", "uuid", "\x00"])},
            {"type": "string", "maxLength": -1, "minLength": 2**63 - 1},
            {"type": "integer", "multipleOf": dice.choice([0, -1, 1e-300, 1e300, 3])},
            {"type": "number", "minimum": 1e300, "maximum": -1e300},
            {"type": "array", "items": {"type": "object", "properties": {}}, "x-kubernetes-list-type": "map"},
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": -5},
            {"type": "array", "items": [{"type": "string"}]},
            {"type": "object", "default": value, "x-kubernetes-preserve-unknown-fields": True},
            {"type": "object", "properties": {"a": {"$ref": "#/definitions/x"}}},
            {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(min(depth, 3000))}},
            {"type": "string", "enum": [str(n) for n in range(depth)], "default": "x"},
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
            {"type": "object", "x-kubernetes-validations": [rule]},
            {"type": "string", "x-kubernetes-validations": [rule]},
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [rule] * min(depth, 50)},
            {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}], "x-kubernetes-validations": [rule]},
            {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"metadata": deep}},
        ]
    )
    return {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}


def definition(dice: random.Random) -> Any:
    """A definition of custom resources with such a schema."""
    versions = [{**version, "schema": {"openAPIV3Schema": schema(dice)}} for version in DEFINITION["spec"]["versions"]]
    if dice.random() < 0.3:
        for version in versions:
            paths = [".spec.a", "." + "a" * 5000, "..", "[", ".spec[*].a", ".metadata.name", "{.spec}", ".a" * 2000]
            version["selectableFields"] = [{"jsonPath": dice.choice(paths)}]
            column = {"name": "x", "type": dice.choice(["string", "date", "x"]), "jsonPath": dice.choice(paths)}
            version["additionalPrinterColumns"] = [column]
    return {**DEFINITION, "spec": {**DEFINITION["spec"], "versions": versions}}


def json_patch(dice: random.Random) -> Any:
    big = {"op": "add", "path": "/data", "value": {"k": "x" * 1000}}
    doubled = [{"op": "copy", "from": "", "path": f"/data/c{n}"} for n in range(40)]
    paths = ["", "/", "~", "/~2", "/metadata/labels/~1~0", "/-", "/metadata/finalizers/-1", "/data" * 5000]
    paths += ["/metadata/finalizers/99999999999999999999", "/metadata/finalizers/01", "/metadata/finalizers/+1"]
    ops = ["add", "remove", "replace", "move", "copy", "test", "nope", 1, None]
    one = {"op": dice.choice(ops), "path": dice.choice(paths), "from": dice.choice(paths), "value": {"a": [1]}}
    return dice.choice(
        [
            [big, *doubled],
            [one],
            [one, one],
            [one] * 10_001,
            [{"op": "move", "from": "/metadata", "path": "/metadata/labels"}],
            [{"op": "test", "path": "", "value": None}],
            [{"op": "replace", "path": "", "value": dice.choice([None, 1, [], {}])}],
            [{"op": "add", "path": 1}],
            [[]],
            [None],
            {},
        ]
    )


def strategic_patch(dice: random.Random) -> Any:
    odd = dice.choice([None, 1, "delete", "replace", "merge", "x", [], {}, [1], [{}], {"a": 1}])
    directive = dice.choice(
        [
            "$patch",
            "$retainKeys",
            "$setElementOrder/containers",
            "$deleteFromPrimitiveList/finalizers",
            "$setElementOrder/",
        ]
    )
    containers: Any = dice.choice([[{directive: odd}], [{"name": "c", directive: odd}], odd, [odd]])
    return dice.choice(
        [
            {directive: odd},
            {"spec": {directive: odd, "containers": containers}},
            {"metadata": {directive: odd, "finalizers": odd}},
            {"spec": {"template": {"spec": {"containers": containers, directive: odd}}}},
        ]
    )


def selector(dice: random.Random) -> str:
    many = dice.choice([3, 1_000, 30_000])
    return dice.choice(
        [
            "a in (" + "b," * many + "b)",
            "a in " + "(" * many,
            "a notin (",
            "!" * many + "a",
            ",".join(f"k{n}=v" for n in range(many)),
            "a=b=c",
            "a===b",
            "=",
            "a>b",
            "a>" + "9" * many,
            "a/b/c=d",
            "é=é",
            "\x00",
            "metadata.name=" + "\\" * many,
            "metadata.name!=a,metadata.namespace=b,spec.nope=1",
            "metadata.name in (a)",
            "status.phase=Running,spec.nodeName=" + "n" * many,
            "," * many,
        ]
    )


def token(dice: random.Random) -> str:
    """To go on with."""
    start: Any = dice.choice(["/a", "a", "../../secrets/x", "/a/../b", "", "\x00", "/" * 1000, "é", 1, None, "/a\x00"])
    value: Any = {"v": dice.choice(["meta.k8s.io/v1", "v", 1]), "rv": dice.choice([0, -1, -2, 1, 2**63, 2**64, "1"])}
    value["start"] = start
    raw = dice.choice([msgspec.json.encode(value), b"{}", b"[]", b"null", b"\xff", b"[" * 100_000])
    text = base64.urlsafe_b64encode(raw).decode()
    return dice.choice([text, text.rstrip("="), text[:-2], text + "é", "!", "a" * 10_000])


def headers(dice: random.Random) -> dict[str, str]:
    """That say who one is, or want to be another."""
    odd = ["", "x", "system:masters", "system:serviceaccount:default:x", "é", "\x7f", "a" * 10_000, "system:node:n"]
    part = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    bearers = ["", " ", "x", "a.b.c", f"{part}.{part}.", f"{part}.{part}.x", "." * 10_000, "é.é.é", "a" * 50_000]
    made = {"authorization": dice.choice(["Bearer ", "bearer ", "Basic ", "Bearer", ""]) + dice.choice(bearers)}
    if dice.random() < 0.6:
        del made["authorization"]
        names = ["user", "group", "uid", "extra-scopes", "extra-%zz", "extra-", "extra-%2f%00", "nope"]
        for name in dice.sample(names, dice.randrange(1, 4)):
            made[f"impersonate-{name}"] = dice.choice(odd)
    return made
