/**
 * Parses the text of a pipeline file to a typed pipeline, or returns the place of the error. Unknown members
 * are ignored; unknown component types are kept.
 */
import { readAttempts } from './attempts.ts';
import { componentLimit, componentNameLimit, descriptionLimit, variableLimit } from './bounds.ts';
import { findMisspelled, findMisspelledMembers } from './misspelled-members.ts';
import {
  type GridColumn,
  type OrchestrationComponent,
  type Pipeline,
  type PipelineType,
  type Plain,
  type PlainMap,
  pipelineExtensions,
  pipelineNameOf,
  pipelineTypeOf,
  type TransformationComponent,
  type TransitionKind,
  transitionKinds,
  type VariableDeclaration,
} from './pipeline.ts';
import { shorten } from './template.ts';
import { readYaml, YamlError, type YamlTree } from './yaml-tree.ts';

export interface PipelineSyntaxError {
  file: string;
  /** Counts from 1. */
  line: number;
  column: number;
  message: string;
}

export type ParseResult =
  | { pipeline: Pipeline; value: Plain; lineOf: LineOf; error?: undefined }
  | { pipeline?: undefined; value?: undefined; lineOf?: undefined; error: PipelineSyntaxError };

export function describeSyntaxError({ line, column, message }: PipelineSyntaxError): string {
  return `line ${line}, column ${column}: ${message}`;
}

/** The line of the value at a path of keys, or of its nearest ancestor if there is no such value. */
export type LineOf = (path: readonly string[]) => number;

/** A member of the file that does not conform to the format. */
class FormError extends Error {
  readonly path: readonly string[];
  constructor(path: readonly string[], message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Reads one pipeline file.
 *
 * @param path its path in the project, ending in `.orch.yaml` or `.tran.yaml`
 */
export function parsePipeline(path: string, text: string): ParseResult {
  let tree: YamlTree | undefined;
  try {
    const read = readYaml(text);
    tree = read;
    const { value } = read;
    return { pipeline: readPipeline(path, value), value, lineOf: (place) => read.locate(place).line };
  } catch (error) {
    if (error instanceof YamlError) {
      return { error: { file: path, line: error.line, column: error.column, message: error.message } };
    }
    if (error instanceof FormError && tree !== undefined) {
      return { error: { file: path, ...tree.locate(error.path), message: error.message } };
    }
    throw error;
  }
}

function readPipeline(path: string, value: Plain): Pipeline {
  const root = asMap(value, []);
  checkMembers(root, [], rootMembers);
  const type = readType(path, root);
  const body = asMap(root.pipeline, ['pipeline']);
  checkMembers(body, ['pipeline'], bodyMembers);
  const entries = Object.entries(asMap(body.components ?? {}, ['pipeline', 'components']));
  if (entries.length > componentLimit) {
    throw new FormError(
      ['pipeline', 'components'],
      `the pipeline has ${entries.length} components; the limit is ${componentLimit}: split it into several pipelines`,
    );
  }
  const frame = {
    path,
    name: pipelineNameOf(path),
    version: readVersion(root),
    variables: readVariables(body.variables),
    description: readDescription(root.design),
  };
  return type === 'orchestration'
    ? {
        ...frame,
        type,
        components: new Map(entries.map(([name, raw]) => [name, readOrchestrationComponent(name, raw)])),
      }
    : {
        ...frame,
        type,
        components: new Map(entries.map(([name, raw]) => [name, readTransformationComponent(name, raw)])),
      };
}

/** Notes do not affect a run, so a malformed note is ignored. */
function readDescription(design: Plain | undefined): string {
  const notes = isMap(design) && isMap(design.notes) ? Object.values(design.notes) : [];
  const texts = notes.map((note) => (isMap(note) && typeof note.content === 'string' ? note.content : ''));
  const paragraphs = texts.map((text) => text.trim()).filter((text) => text !== '');
  // YAML allows NUL and lone surrogates, which PostgreSQL cannot store as text.
  const text = paragraphs.join('\n\n').replaceAll('\0', '').toWellFormed();
  return text.length <= descriptionLimit ? text : `${text.slice(0, descriptionLimit - 1).toWellFormed()}…`;
}

const rootMembers = ['type', 'version', 'pipeline', 'design'];
const bodyMembers = ['components', 'variables'];

/** A misspelled member would hide its contents, so it is an error. Other unknown members are ignored. */
function checkMembers(map: PlainMap, path: readonly string[], known: readonly string[]): void {
  for (const { member, meant } of findMisspelled(map, known))
    throw new FormError(
      [...path, member],
      `${describePlace(path)} has no member "${member}": did you mean "${meant}"?`,
    );
}

const readableVersion = '1.0';

function readVersion({ version = readableVersion }: PlainMap): string {
  const input = asText(version ?? '', ['version']).trim();
  // Older files have an empty version, or one without a digit after the point.
  if (['', '1', readableVersion].includes(input)) return readableVersion;
  throw new FormError(
    ['version'],
    `"version" is "${shorten(input)}": use "${readableVersion}", the only supported version`,
  );
}

function readType(path: string, root: PlainMap): PipelineType {
  const type = root.type;
  if (type !== 'orchestration' && type !== 'transformation') {
    throw new FormError(['type'], '"type" must be orchestration or transformation');
  }
  const typeByName = pipelineTypeOf(path);
  if (typeByName !== undefined && typeByName !== type) {
    throw new FormError(
      ['type'],
      `"type" is ${type}, but the file name ends in ${pipelineExtensions[typeByName]}: change one of them`,
    );
  }
  return type;
}

function readFrame(name: string, raw: Plain) {
  const path = ['pipeline', 'components', name];
  const component = asMap(raw, path);
  const type = asText(component.type, [...path, 'type']);
  checkLength(name, path, "a component's name");
  checkLength(type, [...path, 'type'], `the type of "${shorten(name)}"`);
  const parameters = asMap(component.parameters ?? {}, [...path, 'parameters']);
  const misspelled = findMisspelledMembers(component);
  const frame = {
    name,
    type,
    parameters,
    ...readAttempts(component),
    ...(misspelled.length === 0 ? {} : { misspelled }),
  };
  return { path, component, frame };
}

function checkLength(text: string, path: readonly string[], what: string): void {
  if (text.length >= 1 && text.length <= componentNameLimit) return;
  throw new FormError(path, `${what} must have 1 to ${componentNameLimit} characters`);
}

function readOrchestrationComponent(name: string, raw: Plain): OrchestrationComponent {
  const { path, component, frame } = readFrame(name, raw);
  const transitions = asMap(component.transitions ?? {}, [...path, 'transitions']);
  const read = (kind: TransitionKind) => asNames(transitions[kind], [...path, 'transitions', kind]);
  for (const kind of Object.keys(transitions)) {
    if (!transitionKinds.includes(kind as TransitionKind)) {
      throw new FormError(
        [...path, 'transitions', kind],
        `"${kind}" is not a kind of transition: use ${transitionKinds.join(', ')}`,
      );
    }
  }
  const [target] = asNames(component.iterationTarget, [...path, 'iterationTarget']);
  return {
    ...frame,
    transitions: {
      success: read('success'),
      failure: read('failure'),
      unconditional: read('unconditional'),
      true: read('true'),
      false: read('false'),
    },
    skipped: readYes(component.skipped, [...path, 'skipped']),
    ...(target === undefined ? {} : { iterationTarget: target }),
    ...readPostProcessing(component.postProcessing, [...path, 'postProcessing']),
  };
}

function readPostProcessing(
  raw: Plain | undefined,
  path: readonly string[],
): Pick<OrchestrationComponent, 'updateScalarVariables' | 'updateGridVariables' | 'outputMessage'> {
  const { updateScalarVariables, updateGridVariables, updateOutputMessage } = asMap(raw ?? {}, path);
  const ofScalars = [...path, 'updateScalarVariables'];
  const ofGrids = [...path, 'updateGridVariables'];
  const message = asText(updateOutputMessage ?? '', [...path, 'updateOutputMessage']);
  return {
    updateScalarVariables: asList(updateScalarVariables, ofScalars).map((pair) => {
      const [variable, value] = asList(pair, ofScalars);
      return [asText(variable, ofScalars), asText(value ?? '', ofScalars)];
    }),
    updateGridVariables: asList(updateGridVariables, ofGrids).map((each) => readGridUpdate(each, ofGrids)),
    ...(message === '' ? {} : { outputMessage: message }),
  };
}

/** As an argument of a call: `{variable, status, gridValues}`; or `[variable, rows]`. */
function readGridUpdate(raw: Plain, path: readonly string[]): { variable: string; rows: Plain } {
  const [variable, rows] = isList(raw) ? raw : [asMap(raw, path).variable, asMap(raw, path).gridValues];
  return { variable: asText(variable, path), rows: rows ?? [] };
}

function readTransformationComponent(name: string, raw: Plain): TransformationComponent {
  const { path, component, frame } = readFrame(name, raw);
  return { ...frame, sources: asNames(component.sources, [...path, 'sources']) };
}

function readVariables(raw: Plain | undefined): Map<string, VariableDeclaration> {
  const path = ['pipeline', 'variables'];
  const variables = Object.entries(asMap(raw ?? {}, path));
  if (variables.length > variableLimit) {
    throw new FormError(
      path,
      `the pipeline declares ${variables.length} variables; the limit is ${variableLimit}: keep values in a grid`,
    );
  }
  return new Map(variables.map(([name, value]) => [name, readVariable(name, value)]));
}

function readVariable(name: string, raw: Plain): VariableDeclaration {
  const path = ['pipeline', 'variables', name];
  checkLength(name, path, "a variable's name");
  const variable = asMap(raw, path);
  const metadata = asMap(variable.metadata, [...path, 'metadata']);
  const choice = <T extends string>(member: string, choices: readonly T[], otherwise?: T): T => {
    const value = metadata[member] ?? otherwise;
    const found = choices.find((each) => each === value);
    if (found === undefined) {
      throw new FormError(
        [...path, 'metadata', member],
        `"${member}" of the variable "${name}" must be ${choices.join(' or ')}`,
      );
    }
    return found;
  };
  const type = choice('type', ['TEXT', 'NUMBER', 'GRID']);
  return {
    name,
    type,
    behaviour: choice('scope', ['COPIED', 'SHARED'], 'COPIED'),
    visibility: choice('visibility', ['PUBLIC', 'PRIVATE'], 'PUBLIC'),
    columns: type === 'GRID' ? readColumns(metadata.columns, [...path, 'metadata', 'columns']) : [],
    defaultValue: variable.defaultValue ?? (type === 'GRID' ? [] : ''),
  };
}

function readColumns(raw: Plain | undefined, path: readonly string[]): GridColumn[] {
  return Object.entries(asMap(raw, path)).map(([name, column]) => {
    const type = asMap(column, [...path, name]).columnType;
    return { name, type: type === 'NUMBER' ? 'NUMBER' : 'TEXT' };
  });
}

function describePlace(path: readonly string[]): string {
  return path.length === 0 ? 'the file' : `"${path.join('.')}"`;
}

function isMap(value: Plain | undefined): value is PlainMap {
  return typeof value === 'object' && value !== null && !isList(value);
}

function asMap(value: Plain | undefined, path: readonly string[]): PlainMap {
  if (isMap(value)) return value;
  throw new FormError(path, `${describePlace(path)} must be a map${describeNoMap(value)}`);
}

function describeNoMap(value: Plain | undefined): string {
  if (value === undefined) return ', but it is missing';
  if (typeof value !== 'string') return '';
  const found = `, and not the text "${shorten(value)}"`;
  return /^[^\s:]+:\S/.test(value.slice(0, 300)) ? `${found}: write a space after the colon` : found;
}

function isList(value: Plain): value is readonly Plain[] {
  return Array.isArray(value);
}

function asList(value: Plain | undefined, path: readonly string[]): readonly Plain[] {
  if (value === undefined || value === null) return [];
  if (isList(value)) return value;
  throw new FormError(path, `${describePlace(path)} must be a list`);
}

function asText(value: Plain | undefined, path: readonly string[]): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  throw new FormError(
    path,
    `${describePlace(path)} must be a text${value === undefined ? ', but it is missing' : ''}`,
  );
}

function asNames(value: Plain | undefined, path: readonly string[]): string[] {
  if (typeof value === 'string') return [value];
  return asList(value, path).map((name) => asText(name, path));
}

function readYes(value: Plain | undefined, path: readonly string[]): boolean {
  const word = value === undefined || value === null ? '' : asText(value, path).trim().toLowerCase();
  if (word === 'yes' || word === 'true') return true;
  if (word === '' || word === 'no' || word === 'false') return false;
  throw new FormError(path, `${describePlace(path)} is "${shorten(word)}": use true or false`);
}
