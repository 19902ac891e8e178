/** Which orchestrations are tests, and the check of what they run. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { outlineFile } from '../check/outline.ts';
import { validateProject } from '../check/validate-project-fixture.ts';

const file = (type: string, components: object) =>
  JSON.stringify({ type, version: '1.0', pipeline: { components } });
const underTest = (pipelineName: string, more: object = {}) => ({
  type: 'run-pipeline-under-test',
  parameters: { pipelineName },
  ...more,
});

it('an orchestration with a pipeline under test is a test', () => {
  const read = (components: object) => outlineFile('p.orch.yaml', file('orchestration', components)).outline;
  assert.deepEqual(
    read({ A: underTest('load'), B: underTest('totals.tran.yaml'), C: underTest('load') })?.testedPipelines,
    ['load', 'totals.tran.yaml'],
  );
  assert.equal(read({ A: underTest('load', { skipped: true }) })?.testedPipelines, undefined);
  assert.equal(read({ A: { type: 'start' } })?.testedPipelines, undefined);
});

it('a pipeline under test is found with or without its extension, whatever its type', () => {
  const start = { type: 'start', transitions: { unconditional: ['A'] } };
  const check = (name: string) => {
    const files = [
      { path: 'test.orch.yaml', text: file('orchestration', { Start: start, A: underTest(name) }) },
      { path: 'totals.tran.yaml', text: file('transformation', {}) },
      { path: 'load.orch.yaml', text: file('orchestration', { Start: { type: 'start' } }) },
    ];
    const findings = validateProject(files);
    return findings.filter(({ code }) => code === 'missing-pipeline').map(({ message }) => message);
  };
  for (const name of ['totals', 'totals.tran.yaml', 'load', 'load.orch.yaml'])
    assert.deepEqual(check(name), [], name);
  assert.match(check('laod')[0] ?? '', /laod.*did you mean "?load/);
});
