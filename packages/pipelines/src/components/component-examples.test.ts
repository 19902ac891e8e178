import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readPipelineFile } from '../check/outline.ts';
import type { PipelineType } from '../format/pipeline.ts';
import { pipelineExtensions } from '../format/pipeline.ts';
import { findDefinition, listComponentTypes } from './registry.ts';

/** Findings about the component itself. Others are about the pipeline around it, which is missing here. */
const ownCodes = [
  'syntax-error',
  'unknown-component-type',
  'component-type-misplaced',
  'misspelled-member',
  'missing-parameter',
  'invalid-parameter',
  'misspelled-parameter',
  'transition-not-allowed',
  'no-effect',
];

function findFaults(kind: PipelineType, example: string): string[] {
  const component = example.replaceAll('\n', '\n      ');
  const text = `type: ${kind}\nversion: "1.0"\npipeline:\n  components:\n    It:\n      ${component}\n`;
  const read = readPipelineFile(`example${pipelineExtensions[kind]}`, text);
  if ('error' in read) return [read.error.message];
  return read.outline.notes.flatMap((note) =>
    'code' in note && ownCodes.includes(note.code) ? [note.message] : [],
  );
}

for (const kind of ['orchestration', 'transformation'] as const) {
  describe(`the example of the ${kind} component`, () => {
    for (const type of listComponentTypes(kind)) {
      it(type, () => {
        const definition = findDefinition(type);
        assert.ok(definition !== undefined);
        assert.match(definition.example, new RegExp(`^type: ${type}(\\n|$)`));
        assert.deepEqual(findFaults(kind, definition.example), []);
        for (const { about } of [definition, ...Object.values(definition.parameters)])
          assert.match(about, /^[A-Z].*[.]$/s);
      });
    }
  });
}
