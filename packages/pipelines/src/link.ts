/** The questions that outlines of single files leave, answered by all of them together. */
import { findingMessageLimit } from './bounds.ts';
import {
  type CallArgument,
  type Finding,
  type Question,
  type Unreadable,
  unreadableFinding,
} from './finding.ts';
import { createSuggestions, type Suggestions } from './nearest.ts';
import type { PipelineOutline } from './outline.ts';
import { isMisnamedPipeline, pipelineNameOf, pipelinePath, pipelineTypeOf } from './pipeline.ts';
import { type CallEdge, callCycles } from './validate-calls.ts';

/** What the project, or a group of shared pipelines, has beside its pipelines. */
export interface ProjectNames {
  /** How messages name it; without it "the project". */
  title?: string;
  variables: ReadonlySet<string>;
  /** Undefined when they are not known: the run tells. */
  secretReferences: ReadonlySet<string> | undefined;
  /** Paths of all files, pipelines too. */
  files: ReadonlySet<string>;
  /** Why pipeline files cannot be read, by their paths. */
  unreadable?: ReadonlyMap<string, Unreadable>;
}

export type SharedCall = Extract<Question, { asks: 'shared-call' }>;
export type ReportFinding = (finding: Finding) => void;

/** The names of variables that are used but not declared where they are used: the project may have them. */
export function variablesAskedFor(outlines: Iterable<PipelineOutline>): Set<string> {
  const names = new Set<string>();
  for (const { notes } of outlines) {
    for (const note of notes) {
      if (!('asks' in note)) continue;
      if (note.asks === 'variable') names.add(note.name);
      if ('sets' in note) for (const { name } of note.sets) names.add(name);
    }
  }
  return names;
}

/** The names of secret references that pipelines use. */
export function secretsAskedFor(outlines: Iterable<PipelineOutline>): Set<string> {
  const names = new Set<string>();
  for (const { notes } of outlines)
    for (const note of notes) if ('asks' in note && note.asks === 'secret') names.add(note.name);
  return names;
}

/**
 * Reports all findings of a project: first the files that cannot be read, then file by file in the order given, and then what concerns
 * several files.
 */
export function linkProject(
  outlines: readonly PipelineOutline[],
  known: ProjectNames,
  report: ReportFinding,
): void {
  const answers = createAnswers(outlines, known, report);
  for (const [path, reason] of known.unreadable ?? []) answers.report(unreadableFinding(path, reason));
  for (const outline of outlines) answers.reportFile(outline);
  for (const path of known.files) if (isMisnamedPipeline(path)) answers.report(misnamedFinding(path));
  const calls = new Map(outlines.map((outline) => [outline.path, callsOf(outline)]));
  for (const finding of callCycles(calls)) answers.report(finding);
}

function misnamedFinding(path: string): Finding {
  const message =
    "the file is not read as a pipeline; a pipeline's file name ends in .orch.yaml or .tran.yaml: rename it";
  return { path, line: 1, code: 'pipeline-file-name', message, level: 'warning' };
}

export interface Answers {
  /** Cuts what is too long. */
  report: ReportFinding;
  suggest: Suggestions;
  /** The findings of one file, with those that its questions come to. */
  reportFile(outline: PipelineOutline): void;
  /**
   * What is wrong with the call of a pipeline among these outlines.
   *
   * @param place of the calling component
   * @param tell takes findings whose place is in another artifact
   */
  reportCall(place: CallPlace, path: string, sets: readonly CallArgument[], tell?: ReportFinding): void;
}

export interface CallPlace {
  path: string;
  line: number;
  component?: string;
  reached: boolean;
}

/**
 * Answers questions about the files of one artifact, of which `outlines` are those pipelines that are looked at.
 *
 * @param suggest of the whole check, when it is of several artifacts
 */
export function createAnswers(
  outlines: readonly PipelineOutline[],
  known: ProjectNames,
  tell: ReportFinding,
  suggest = createSuggestions(),
): Answers {
  const byPath = new Map(outlines.map((outline) => [outline.path, outline]));
  const declarations = declarationsOf(byPath);
  const reportHere: ReportFinding = (finding) =>
    tell({ ...finding, message: finding.message.slice(0, findingMessageLimit) });

  function reportCall(
    place: CallPlace,
    called: string,
    sets: readonly CallArgument[],
    report = reportHere,
  ): void {
    const declared = declarations(called);
    const { reached, ...where } = place;
    const level = reached ? 'error' : 'warning';
    if (declared === undefined) {
      const message = missingPipeline(called, known, suggest);
      report({ ...where, code: 'missing-pipeline', message, level });
      return;
    }
    for (const { name, as } of sets) {
      const variable = declared.get(name);
      if (variable === undefined) reportVariable(place, name, () => declared.keys(), report);
      else if (variable.visibility === 'PRIVATE') {
        const message = `"${name}" is PRIVATE in ${called} and cannot be set from ${place.path}: make it PUBLIC`;
        report({ ...where, code: 'private-variable', message, level });
      } else if ((variable.type === 'GRID') !== (as === 'grid')) {
        const message = `"${name}" is ${variable.type} in ${called}: set it by ${as === 'grid' ? 'setScalarVariables' : 'setGridVariables'}`;
        report({ ...where, code: 'variable-type', message, level });
      }
    }
  }

  function reportVariable(
    place: CallPlace,
    name: string,
    declared: () => Iterable<string>,
    report = reportHere,
  ): void {
    if (known.variables.has(name)) return;
    const { reached, ...where } = place;
    const remedy = suggest(
      name,
      () => [...declared(), ...known.variables],
      'declare it here or in the project',
    );
    const message = `the pipeline declares no variable "${name}": ${remedy}`;
    report({ ...where, code: 'undeclared-variable', message, level: reached ? 'error' : 'warning' });
  }

  function answer(path: string, note: Question, own: () => Iterable<string>): void {
    const { line, component, reached } = note;
    const place = { path, line, ...(component === undefined ? {} : { component }), reached };
    if (note.asks === 'variable') reportVariable(place, note.name, own);
    else if (note.asks === 'secret') reportSecret(place, note.name, known, reportHere);
    else if (note.asks === 'file') reportMissingFile(place, note.path, known, reportHere);
    else if (note.asks === 'call') reportCall(place, note.path, note.sets);
    // Which shared pipelines there are is known when a run starts (check-run.ts).
  }

  return {
    report: reportHere,
    suggest,
    reportCall,
    reportFile({ path, notes, variables, beyond }) {
      const own = () => variables.map(({ name }) => name);
      for (const note of notes) {
        if ('asks' in note) answer(path, note, own);
        else reportHere({ path, ...note });
      }
      if (beyond === 0) return;
      const message = `the pipeline has ${beyond} more findings, or names to look up, than are kept: correct those that are reported, or split it`;
      reportHere({ path, line: 1, code: 'more-findings', message, level: 'warning' });
    },
  };
}

/** The calls of a pipeline that can be made. */
export function callsOf({ notes }: PipelineOutline): CallEdge[] {
  return notes.flatMap((note) => {
    if (!('asks' in note) || note.asks !== 'call' || !note.reached) return [];
    return [{ to: note.path, component: note.component ?? '', line: note.line, certain: note.certain }];
  });
}

function missingPipeline(called: string, known: ProjectNames, suggest: Suggestions): string {
  const unreadable = known.unreadable?.get(called);
  if (unreadable !== undefined)
    return `the pipeline ${called} cannot be read: ${unreadable.reason}: correct that file`;
  const type = pipelineTypeOf(called) ?? 'orchestration';
  const other = type === 'orchestration' ? 'transformation' : 'orchestration';
  const otherPath = pipelinePath(called, other);
  if (known.files.has(otherPath) || known.unreadable?.has(otherPath) === true)
    return `${otherPath} is ${other === 'orchestration' ? 'an orchestration' : 'a transformation'}: use run-${other}`;
  const names = () => [...known.files].filter((path) => pipelineTypeOf(path) === type).map(pipelineNameOf);
  const withExtension = (name: string) => pipelinePath(name, type);
  const remedy = suggest(pipelineNameOf(called), names, 'add it, or correct the name', withExtension);
  return `the pipeline ${called} is not in ${titleOf(known)}: ${remedy}`;
}

const titleOf = ({ title = 'the project' }: ProjectNames) => title;

function reportSecret(
  { reached: _, ...where }: CallPlace,
  name: string,
  known: ProjectNames,
  report: ReportFinding,
): void {
  if (known.secretReferences?.has(name) !== false) return;
  const message = `the project has no secret reference "${name}": create it, or correct the name`;
  report({ ...where, code: 'unknown-secret-reference', message, level: 'warning' });
}

function reportMissingFile(
  { reached: _, ...where }: CallPlace,
  file: string,
  known: ProjectNames,
  report: ReportFinding,
): void {
  if (known.files.has(file)) return;
  const message = `the file "${file}" is not in ${titleOf(known)}: unless the agent has it in its own files folder, add it, or correct the name`;
  report({ ...where, code: 'missing-file', message, level: 'warning' });
}

/** What a pipeline declares, looked up only of those that are called. */
function declarationsOf(byPath: ReadonlyMap<string, PipelineOutline>) {
  type Declared = ReadonlyMap<string, PipelineOutline['variables'][number]>;
  const found = new Map<string, Declared>();
  return (path: string): Declared | undefined => {
    const outline = byPath.get(path);
    if (outline === undefined) return undefined;
    const declared =
      found.get(path) ?? new Map(outline.variables.map((variable) => [variable.name, variable]));
    found.set(path, declared);
    return declared;
  };
}
