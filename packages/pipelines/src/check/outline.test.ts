// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callCycleLimit, findingMessageLimit } from '../format/bounds.ts';
import type { Finding } from '../validate/finding.ts';
import { linkProject, listAskedVariables } from './link.ts';
import { outlineFile, type PipelineOutline } from './outline.ts';
import { validateProject } from './validate-project-fixture.ts';

interface Sources {
  [path: string]: { components: Record<string, object>; variables?: object };
}

const textOf = (pipeline: object) => JSON.stringify({ type: 'orchestration', pipeline });
const call = (orchestrationJob: string, sets: string[] = []) => ({
  type: 'run-orchestration',
  parameters: { orchestrationJob, setScalarVariables: sets.map((name) => [name, '1']) },
});
const script = (sqlScript: string) => ({ type: 'sql-script', parameters: { sqlScript } });
const start = (...success: string[]) => ({ type: 'start', transitions: { success } });
const secret = { metadata: { type: 'TEXT', visibility: 'PRIVATE' }, defaultValue: '' };

function outlines(sources: Sources, most?: number): PipelineOutline[] {
  return Object.entries(sources).map(([path, pipeline]) => {
    const { outline } = outlineFile(path, textOf(pipeline), most);
    return outline ?? assert.fail(path);
  });
}

function linked(all: readonly PipelineOutline[], variables: string[] = [], files: string[] = []): Finding[] {
  const findings: Finding[] = [];
  const known = {
    variables: new Set(variables),
    secretReferences: new Set<string>(),
    files: new Set(files),
  };
  linkProject(all, known, (finding) => findings.push(finding));
  return findings;
}
const say = (findings: Finding[]) =>
  findings.map(({ path, code, component }) => `${path} ${code} ${component ?? '-'}`);

const project: Sources = {
  'a.orch.yaml': {
    components: {
      S: start('Call', 'Gone', 'Script', 'Odd'),
      Call: call('b', ['inner', 'region', 'nowhere']),
      Gone: call('c'),
      Script: script('select ${region}, ${nobody}'),
      Odd: { type: 'vendor' },
    },
  },
  'b.orch.yaml': { components: { S: start('Back'), Back: call('a') }, variables: { inner: secret } },
};

describe('the outline of a pipeline file', () => {
  it('gives, linked with the other outlines, the same findings as checking the whole project', () => {
    const files = Object.entries(project).map(([path, pipeline]) => ({ path, text: textOf(pipeline) }));
    const whole = validateProject(files, ['region']);
    assert.deepEqual(linked(outlines(project), ['region']), whole);
    assert.deepEqual(say(whole), [
      'a.orch.yaml undeclared-variable Script',
      'a.orch.yaml unknown-component-type Odd',
      'a.orch.yaml private-variable Call',
      'a.orch.yaml undeclared-variable Call',
      'a.orch.yaml missing-pipeline Gone',
      'a.orch.yaml pipeline-calls-itself Call',
    ]);
  });

  it('is plain data that survives JSON', () => {
    const retained = JSON.parse(JSON.stringify(outlines(project))) as PipelineOutline[];
    assert.deepEqual(retained, outlines(project));
  });

  it('asks for variables that the project may declare', () => {
    assert.deepEqual(
      listAskedVariables(outlines(project)),
      new Set(['region', 'nobody', 'inner', 'nowhere']),
    );
  });

  it('keeps a limited number of notes and counts the others', () => {
    const components = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`c${index}`, script('select ${x}')]),
    );
    const all = outlines(
      { 'a.orch.yaml': { components: { S: start(...Object.keys(components)), ...components } } },
      10,
    );
    assert.deepEqual([all[0]?.notes.length, all[0]?.beyond], [10, 20]);
    const findings = linked(all);
    assert.equal(findings.length, 11);
    assert.match(findings.at(-1)?.message ?? '', /^20 more findings or names to look up are not listed/);
    const calls = outlines(
      { 'a.orch.yaml': { components: { S: start('A'), A: call('b', ['x', 'y', 'z']) } } },
      3,
    );
    assert.deepEqual([calls[0]?.notes, calls[0]?.beyond], [[], 4]);
  });

  it('cuts long names and messages', () => {
    const long = 'x'.repeat(100_000);
    const all = outlines({
      'a.orch.yaml': {
        components: {
          S: start(long),
          A: script(`\${${long}}`),
          B: call(long, [long]),
          S2: start('A', 'B'),
        },
      },
    });
    assert.ok(JSON.stringify(all).length < 10_000);
    const findings = linked(all);
    for (const { message } of findings) assert.ok(message.length <= findingMessageLimit);
    const codes = new Set(findings.map(({ code }) => code));
    assert.deepEqual(
      codes,
      new Set(['undeclared-variable', 'several-starts', 'dangling-transition', 'missing-pipeline']),
    );
  });

  it('of thousands of pipelines that call themselves: reports a limited number of cycles', () => {
    const all = Array.from({ length: 3_000 }, (_, index): PipelineOutline => {
      const path = `p${index}.orch.yaml`;
      const next = `p${(index + 1) % 3_000}.orch.yaml`;
      const notes = [path, next].map((called) => ({
        asks: 'call' as const,
        component: 'c',
        path: called,
        sets: [],
        certain: false,
        line: 1,
        reached: true,
      }));
      return {
        path,
        name: `p${index}`,
        type: 'orchestration',
        variables: [],
        notes,
        description: '',
        sharedPipelines: [],
        beyond: 0,
      };
    });
    const findings = linked(all);
    assert.equal(findings.length, callCycleLimit + 1);
    assert.match(findings.at(-1)?.message ?? '', /more than 20 cycles/);
  });
});
