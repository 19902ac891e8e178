/**
 * A project checked file by file, so that it need not be in memory at once.
 *
 * - **outline**: what a pipeline file leaves behind: what it declares, and its notes.
 * - **note**: a finding that needs no other file, or a question that only the other files answer (link.ts).
 */
import { findingMessageLimit, noteLimit, referenceLimit } from './bounds.ts';
import type { Finding, Question } from './finding.ts';
import { type PipelineSyntaxError, parsePipeline } from './parse.ts';
import type { Pipeline, PipelineType, VariableDeclaration } from './pipeline.ts';
import { type SharedPipelineUse, sharedPipelineUses } from './shared-pipeline-use.ts';
import { checkPipeline } from './validate.ts';

export type VariableOutline = Pick<VariableDeclaration, 'name' | 'type' | 'visibility'>;
export type Note = Omit<Finding, 'path'> | Question;

export interface PipelineOutline {
  path: string;
  name: string;
  type: PipelineType;
  variables: VariableOutline[];
  /** Its notes, from the beginning; empty without any. */
  description: string;
  /** The versions of shared pipelines that it uses. */
  sharedPipelines: SharedPipelineUse[];
  notes: Note[];
  /** Findings, and names that were to be looked up, beyond the bound. */
  beyond: number;
}

export type OutlineResult =
  | { outline: PipelineOutline; error?: undefined }
  | { outline?: undefined; error: PipelineSyntaxError };

/**
 * Reads and checks one pipeline file.
 *
 * @param most how many notes the outline may hold; what it names counts by itself
 */
export function outlineFile(path: string, text: string, most = noteLimit): OutlineResult {
  const { pipeline, error } = parsePipeline(path, text);
  return error === undefined ? { outline: outlineOf(pipeline, Math.min(most, noteLimit)) } : { error };
}

function outlineOf(pipeline: Pipeline, most: number): PipelineOutline {
  const notes: Note[] = [];
  let room = most;
  let beyond = 0;
  function note(each: Note): void {
    const size = sizeOf(each);
    if (size > room) beyond += size;
    else {
      room -= size;
      notes.push(each);
    }
  }
  checkPipeline(pipeline, {
    report: (finding) => note({ ...finding, message: finding.message.slice(0, findingMessageLimit) }),
    ask: (question) => note(bounded(question)),
  });
  const { path, name, type, description } = pipeline;
  const variables = [...pipeline.variables.values()].map(
    ({ name, type, visibility }): VariableOutline => ({ name, type, visibility }),
  );
  const sharedPipelines = sharedPipelineUses(pipeline);
  return { path, name, type, variables, description, sharedPipelines, notes, beyond };
}

/** How many notes it counts for. */
export function sizeOf(note: Note): number {
  return 'asks' in note && note.asks === 'call' ? 1 + note.sets.length : 1;
}

/** A longer name is that of nothing; cut, it still is. */
const cut = (name: string) => name.slice(0, referenceLimit + 1);

function bounded(question: Question): Question {
  switch (question.asks) {
    case 'variable':
    case 'secret':
      return { ...question, name: cut(question.name) };
    case 'file':
      return { ...question, path: cut(question.path) };
    case 'call':
      return { ...question, path: cut(question.path), sets: question.sets.map(cut) };
  }
}
