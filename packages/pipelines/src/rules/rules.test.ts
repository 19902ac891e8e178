import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pipelineExtensions } from '../format/pipeline.ts';
import { rules } from './builtin/registry.ts';
import type { RuleExample, RuleFinding } from './builtin/rule.ts';
import { reviewFile, reviewProject } from './review.ts';
import { readRuleSettings } from './rule-settings.ts';

function listFiles(example: RuleExample): [path: string, text: string][] {
  if (typeof example !== 'string') return Object.entries(example.files);
  const type = example.startsWith('type: orchestration') ? 'orchestration' : 'transformation';
  return [[`example${pipelineExtensions[type]}`, example]];
}

/** All findings of one rule, which is the only one that is on. */
async function findBy(id: string, example: RuleExample): Promise<RuleFinding[]> {
  const off = rules.filter((rule) => rule.id !== id).map((rule) => `- {id: ${rule.id}, enabled: false}`);
  const text = `rules:\n${off.join('\n')}\n- {id: ${id}}`;
  const settings = await readRuleSettings([{ path: 'headgate-rules.yaml', text }]);
  assert.deepEqual(settings.faults, []);
  const reviews = await Promise.all(
    listFiles(example).map(([path, file]) => reviewFile(path, file, settings)),
  );
  const server = typeof example === 'string' ? undefined : example.server;
  const facts = reviews.map((review) => review.facts).filter((each) => each !== undefined);
  assert.equal(facts.length, reviews.length, 'the example can be read');
  return [
    ...reviews.flatMap(({ findings }) => findings),
    ...[...reviewProject(facts, server, settings).values()].flat(),
  ];
}

for (const { id, level, bad, good, fixes, scope } of rules) {
  test(`the rule ${id} finds its bad example and not its good one`, async () => {
    const [found] = await findBy(id, bad);
    assert.equal(found?.rule, id);
    assert.equal(found.level, level);
    assert.ok(found.line >= 1);
    assert.match(found.message, /:/, 'the message says what to do');
    if (scope === 'pipeline' && fixes !== undefined && id !== 'null-comparisons') assert.ok(found.fix);
    assert.deepEqual(await findBy(id, good), []);
  });
}

test('ids are unique, and each rule explains itself', () => {
  assert.equal(new Set(rules.map(({ id }) => id)).size, rules.length);
  for (const { id, title, reason, remedy, parameters } of rules) {
    assert.match(id, /^[a-z0-9-]{3,64}$/);
    assert.ok(!title.endsWith('.'), id);
    for (const text of [reason, remedy]) assert.match(text, /\.$/, id);
    for (const parameter of Object.values(parameters))
      if (parameter.kind === 'integer')
        assert.ok(parameter.least <= parameter.standard && parameter.standard <= parameter.most, id);
  }
});

test('errors beyond the limit of findings still fail the review', async () => {
  const text = [
    'rules:',
    '- id: owner',
    '  enforcementLevel: error',
    '  message: name an owner',
    "  expression: 'true'",
  ].join('\n');
  const settings = await readRuleSettings([{ path: 'headgate-rules.yaml', text }]);
  assert.deepEqual(settings.faults, []);
  const components = Array.from({ length: 700 }, (_, number) => [
    `Print ${number}`,
    { type: 'print-variables', parameters: { variablesToPrint: ['a'] } },
  ]);
  const file = { type: 'orchestration', pipeline: { components: Object.fromEntries(components) } };
  const { findings } = await reviewFile('many.orch.yaml', JSON.stringify(file), settings);
  assert.equal(findings.length, 501);
  assert.ok(findings.some(({ level }) => level === 'ERROR'));
});

test('an own rule whose result says nothing is a fault, not a pass', async () => {
  const expressions = [
    'pipeline.components.length',
    'pipeline.components.find(() => true)',
    'new Set([1])',
    'Promise.resolve(true)',
    '[1]',
  ];
  const file = {
    type: 'orchestration',
    pipeline: { components: { Start: { type: 'start', parameters: {} } } },
  };
  for (const expression of expressions) {
    const text = `rules:\n- id: odd\n  message: odd\n  expression: ${JSON.stringify(expression)}\n`;
    const settings = await readRuleSettings([{ path: 'headgate-rules.yaml', text }]);
    assert.deepEqual(settings.faults, []);
    const { failures } = await reviewFile('one.orch.yaml', JSON.stringify(file), settings);
    assert.match(failures[0]?.message ?? '', /give true or false/, expression);
  }
});
