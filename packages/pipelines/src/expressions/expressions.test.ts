// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Plain } from '../format/pipeline.ts';
import { splitTemplate, TemplateError, unwrapExpression } from '../format/template.ts';
import { createExpressionEngine } from './expressions.ts';
import { evaluateExpression, interpolate, resolveParameters } from './resolve.ts';
import { createProjectVariable, createScope } from './variables.ts';

const scope = createScope([
  createProjectVariable({ name: 'name', type: 'TEXT', behaviour: 'SHARED', value: 'ann' }),
  createProjectVariable({ name: 'n', type: 'NUMBER', behaviour: 'SHARED', value: 2 }),
  createProjectVariable({ name: 'unset', type: 'NUMBER', behaviour: 'SHARED' }),
  createProjectVariable({
    name: 'files',
    type: 'GRID',
    behaviour: 'SHARED',
    value: {
      columns: [
        { name: 'path', type: 'TEXT' },
        { name: 'size', type: 'NUMBER' },
      ],
      rows: [
        ['a.csv', 1],
        ['b.csv', 2],
      ],
    },
  }),
]);
const engine = createExpressionEngine({ milliseconds: 500, bytes: 32 * 1_048_576 });
const evaluation = { engine, scope, sysvar: { environment: { name: 'dev' } } };
const text = (template: string) => interpolate(template, evaluation);
const value = (expression: string) => evaluateExpression(expression, evaluation);
const parameters = (plain: Record<string, Plain>) => resolveParameters(plain, evaluation);

describe('expressions in texts', () => {
  const cases: [string, unknown][] = [
    ['no expression', 'no expression'],
    ['${name}', 'ann'],
    ['Hello ${name.toUpperCase()}!', 'Hello ANN!'],
    ['${n}', 2],
    ['${n + 3}', 5],
    ['n=${n}', 'n=2'],
    ['${n > 1}', true],
    ['[${unset}]', '[]'],
    ['${name == "ann" ? "b}" : "c"}', 'b}'],
    ['${`x${n}y`}', 'x2y'],
    ['${files.path.length}', 2],
    ['${files.size[1] + files.size[0]}', 3],
    ['${sysvar.environment.name}', 'dev'],
    ['${JSON.stringify({a: [1]})}', '{"a":[1]}'],
    ['${[1, {a: 2}]}', '[1,{"a":2}]'],
    ['${"a}b".replace(/}/g, "x")}', 'axb'],
    ['${"a{\'b".replace(/[{\'"/]/g, "")}', 'ab'],
    ['${name.replace(/\\//, "")}-${/^a/.test(name) ? 1 : 0}', 'ann-1'],
    ['${(n / 2) / 1}-${"}"}', '1-}'],
    ['${n /* } */ + 1}', 3],
    ['${n // }\n + 1}', 3],
    ['select * from $T{Source} where a = ${n}', 'select * from $T{Source} where a = 2'],
    ['${1 / 0}', 'Infinity'],
    ['${typeof process + typeof require + typeof fetch}', 'undefinedundefinedundefined'],
  ];
  for (const [template, expected] of cases) {
    it(`${template} → ${JSON.stringify(expected)}`, async () => assert.equal(await text(template), expected));
  }

  it('share no state with each other', async () => {
    await value('globalThis.left = 1');
    await value('(JSON.stringify = () => "mine", 1)');
    assert.equal(await value('typeof left'), 'undefined');
    assert.equal(await value('JSON.stringify([1])'), '[1]');
  });

  it('an advanced condition may contain ${…} outside and inside quotes; values are never inserted into the source', () => {
    assert.equal(unwrapExpression('${a} > 1'), '(a\n) > 1');
    assert.equal(unwrapExpression('"${a}" == \'x\''), '("" + String(a\n) + "") == \'x\'');
    assert.equal(unwrapExpression('a == "y"'), 'a == "y"');
  });

  it('an unclosed ${ is refused', () => {
    assert.throws(
      () => splitTemplate('a ${b "}"'),
      new TemplateError('"${" has no matching "}" in: ${b "}"'),
    );
  });
});

describe('secret("name")', () => {
  const retained: Record<string, string> = { lake: 'it\'s "of" the lake', other: 'of the other' };
  let read: string[] = [];
  const withSecrets = createExpressionEngine(undefined, {
    async read(name) {
      read.push(name);
      return retained[name] ?? Promise.reject(new Error(`there is no ${name}`));
    },
    conceal: (message) => message.replaceAll(/lake/g, '***'),
  });
  const come = (expression: string, variables = scope) => {
    read = [];
    return interpolate(expression, { ...evaluation, engine: withSecrets, scope: variables });
  };

  it('is replaced by the value as a whole, in a text and in an expression', async () => {
    assert.equal(await come('${secret("lake")}'), retained.lake);
    assert.equal(await come("k=${secret('other')}; ${name}"), 'k=of the other; ann');
    assert.equal(await come('${secret(`other`).length + n}'), 14);
    assert.equal(await come('${[secret("lake"), secret("other")].length}'), 2);
    assert.deepEqual(read, ['lake', 'other']);
  });

  it('is read only when the expression calls it, even if the expression catches errors', async () => {
    assert.equal(await come('${n > 1 ? secret("other") : secret("gone")}'), 'of the other');
    assert.deepEqual(read, ['other']);
    await come('${name}');
    assert.deepEqual(read, []);
    assert.equal(
      await come('${(() => { try { return secret("other"); } catch { return 0; } })()}'),
      retained.other,
    );
  });

  it('fails with the message of the source if there is no value', () =>
    assert.rejects(come('${secret("gone")}'), { message: 'there is no gone' }));

  it('accepts a literal name and refuses a computed one', async () => {
    for (const expression of [
      'secret(name)',
      'secret("la" + "ke")',
      'secret()',
      'secret("l.ake")',
      '(s => s("lake"))(secret)',
    ])
      await assert.rejects(come(`\${${expression}}`), { message: /write the name .* as a text/ });
    assert.deepEqual(read, []);
  });

  it('is hidden by a variable named secret, and the message says so', async () => {
    const own = createScope([
      createProjectVariable({ name: 'secret', type: 'TEXT', behaviour: 'SHARED', value: 'mine' }),
    ]);
    assert.equal(await come('${secret}', own), 'mine');
    assert.equal(await come('${secret.length}', own), 4);
    await assert.rejects(come('${secret("lake")}', own), { message: /hides the function secret\("…"\)/ });
  });

  it('is concealed in the message of a failure before the message is cut', () =>
    assert.rejects(come('${(() => { throw new Error("x".repeat(495) + "lake"); })()}'), {
      message: /x\*\*\*\)/,
    }));

  it('fails if there is no source of secrets', () =>
    assert.rejects(text('${secret("lake")}'), { message: /secrets are not available here/ }));
});

describe('expressions are limited, and the message says what to do', () => {
  const cases: [string, RegExp][] = [
    ['(() => { for (;;); })()', /ran longer than 500 ms .*do the work in SQL/],
    ['/(a+)+b/.test("a".repeat(60))', /ran longer than 500 ms/],
    ['"x".repeat(2 ** 29)', /more than 33554432 bytes of memory/],
    ['Array.from({ length: 1e8 })', /more than 33554432 bytes of memory|ran longer/],
    ['(function f() { return f(); })()', /too deeply/],
    ['('.repeat(60_000), /too deeply/],
    ['(() => { let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o; })()', /too deeply|ran longer/],
    ['"x".repeat(5e6)', /the result has more than 4194304 characters/],
    ['nope + 1', /no variable "nope": declare it.*visible here: name, n/],
    ['name +', /syntax error .*: name \+/],
    ['null.x', /fails \(TypeError/],
    ['() => 1', /the result is a function/],
    ['(() => { throw "text"; })()', /throws a value/],
    ['x'.repeat(70_000), /70000 characters; the limit is 65536/],
  ];
  for (const [expression, message] of cases) {
    it(expression.slice(0, 50), async () => {
      await assert.rejects(value(expression), { message });
      assert.equal(await value('1 + 1'), 2);
    });
  }
});

describe('the memory limit of an expression', () => {
  const bounded = createExpressionEngine({ milliseconds: 120_000, bytes: 32 * 1_048_576 });
  const none = { variables: [], sysvar: {} };
  for (const object of ['"x".repeat(1e6)', '{}', '[i]', '() => i', 'new Uint8Array(1e5)'])
    it(`holds for many of ${object}, and the next expression has its own`, async () => {
      const expression = `(() => { const all = []; for (let i = 0; ; i++) all.push(${object}) })()`;
      await assert.rejects(bounded.evaluate(expression, none), /more than 33554432 bytes of memory/);
      assert.equal(await bounded.evaluate('"next".length', none), 4);
    });

  const fill = (result: string) =>
    `(() => { const all = []; try { for (;;) all.push("x".repeat(1e6)) } catch { globalThis.all = all; return ${result} } })()`;

  it('holds for an expression that catches the error', async () => {
    const count = Number(await bounded.evaluate(fill('all.length'), none));
    assert.ok(count > 20 && count < 36, String(count));
  });

  it('fails a result for which there is no memory: it is not an empty text', async () => {
    await assert.rejects(bounded.evaluate(fill('"y".repeat(9e5) + "—"'), none), /33554432 bytes of memory/);
    assert.equal(await bounded.evaluate('""', none), '');
  });

  it('refuses variables that are too large', async () => {
    const large = { ...createProjectVariable({ name: 'v', type: 'TEXT', behaviour: 'SHARED', value: '' }) };
    const variables = [{ ...large, value: 'x'.repeat(17 * 1_048_576) }];
    await assert.rejects(
      bounded.evaluate('v.length', { ...none, variables }),
      /do not fit into the memory of an expression/,
    );
  });
});

describe('the time limit of an expression', () => {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  /** Read while the limit runs. The thread sleeps, as if other programs had the processor. */
  const variable = {
    ...createProjectVariable({ name: 'n', type: 'NUMBER', behaviour: 'SHARED', value: 1 }),
    get value() {
      Atomics.wait(pause, 0, 0, 400);
      return 1;
    },
  };
  const limited = (milliseconds: number) => {
    const engine = createExpressionEngine({ milliseconds, bytes: 32 * 1_048_576 });
    return engine.evaluate('[...Array(1e5).keys()].length + n', { variables: [variable], sysvar: {} });
  };

  it('does not count the time of other programs', async () => {
    assert.equal(await limited(300), 100_001);
  });

  it('is bounded by the clock, too', () => assert.rejects(limited(2), { message: /ran longer than 2 ms/ }));
});

describe('resolveParameters', () => {
  it('resolves values inside lists and maps, and keeps the type of a whole expression', async () => {
    assert.deepEqual(await parameters({ a: ['${n}', { b: 'x${n}' }], c: true, d: null }), {
      a: [2, { b: 'x2' }],
      c: true,
      d: null,
    });
  });

  it('replaces fromGrid by rows of the columns', async () => {
    const fromGrid = { variable: 'files', columns: ['size', 'path'] };
    assert.deepEqual(await parameters({ rows: { fromGrid } }), {
      rows: [
        [1, 'a.csv'],
        [2, 'b.csv'],
      ],
    });
    await assert.rejects(parameters({ rows: { fromGrid: { variable: 'files', columns: ['nope'] } } }), {
      message: 'the grid variable "files" has no column "nope": use one of path, size',
    });
  });

  it('limits the size of resolved parameters', async () => {
    const large = '${"x".repeat(3e6)}';
    await assert.rejects(parameters({ a: large, b: large }), {
      message: /more than 4194304 characters after evaluation/,
    });
  });
});

it('variables may be read without their names', async () => {
  const zone = createProjectVariable({ name: 'zone', type: 'TEXT', behaviour: 'SHARED', value: 'b' });
  const scope = createScope([zone]);
  const names = ["globalThis['zo' + 'ne']", 'z\\u006fne', "eval('zo' + 'ne')", "(0, eval)('zo' + 'ne')"];
  for (const expression of names)
    assert.equal(await interpolate(`\${${expression} + 1}`, { ...evaluation, scope }), 'b1', expression);
  const environment = await interpolate("${globalThis['sys' + 'var'].environment.name}", evaluation);
  assert.equal(environment, 'dev');
});

it('variables may have the names of built-in objects', async () => {
  for (const name of ['Array', 'Error', 'JSON', 'Object', 'Proxy', 'Reflect', 'globalThis']) {
    const named = createScope([
      createProjectVariable({ name, type: 'TEXT', behaviour: 'SHARED', value: 'a' }),
      createProjectVariable({ name: 'zone', type: 'TEXT', behaviour: 'SHARED', value: 'b' }),
    ]);
    const found = await interpolate(`\${${name} + zone + sysvar.environment.name}`, {
      ...evaluation,
      scope: named,
    });
    assert.equal(found, 'abdev');
  }
});
