// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ScriptLanguage } from '../components/definition/component.ts';
import { createExpressionEngine } from '../expressions/expressions.ts';
import { createProjectVariable, createScope } from '../expressions/variables.ts';
import { resolveScript } from './script-text.ts';

const scope = createScope([
  createProjectVariable({ name: 'name', type: 'TEXT', behaviour: 'SHARED', value: "it's" }),
  createProjectVariable({ name: 'n', type: 'NUMBER', behaviour: 'SHARED', value: 3 }),
  createProjectVariable({
    name: 'grid',
    type: 'GRID',
    behaviour: 'SHARED',
    value: { columns: [{ name: 'id', type: 'TEXT' }], rows: [['a'], ['b']] },
  }),
]);
const evaluation = {
  engine: createExpressionEngine(),
  scope,
  sysvar: { environment: { name: 'dev' } },
};

const cases: readonly [language: ScriptLanguage, text: string, resolved: string][] = [
  ['bash', 'echo ${name} ${n}', "echo it's 3"],
  ['bash', 'echo ${sysvar.environment.name} ${grid.id.length}', 'echo dev 2'],
  ['bash', 'echo ${n + 1} ${String(n).length} ${new Date(0).getTime()}', 'echo 4 1 0'],
  [
    'bash',
    'for f in a; do echo ${f} "${HOME}" $name; done',
    'for f in a; do echo ${f} "${HOME}" $name; done',
  ],
  [
    'bash',
    '${name:-x} ${#name} ${name[0]} ${name%.*} ${!name} ${n:0:1}',
    '${name:-x} ${#name} ${name[0]} ${name%.*} ${!name} ${n:0:1}',
  ],
  ['bash', 'x=${name', 'x=${name'],
  ['bash', '${Date} ${String}', '${Date} ${String}'],
  ['python', "print('${name}', '${n}')", "print('it's', '3')"],
  [
    'python',
    'f"${n:.2f} ${other} ${n!r}" + "${name.toUpperCase()}"',
    'f"${n:.2f} ${other} ${n!r}" + "IT\'S"',
  ],
  [
    'python',
    'Template("${who}").substitute(who=1); d = {"a": {"b": 1}}',
    'Template("${who}").substitute(who=1); d = {"a": {"b": 1}}',
  ],
];

describe('${…} in a script', () => {
  for (const [language, text, resolved] of cases)
    it(`${language}: ${text}`, async () => {
      assert.equal(await resolveScript(text, language, evaluation), resolved);
    });

  it('that fails as an expression fails the script', async () => {
    await assert.rejects(resolveScript('echo ${name.nope()}', 'bash', evaluation), /nope/);
  });
});
