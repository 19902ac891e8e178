/** Reads the rules file of a version: which rules are on, their levels and parameters, and its own rules. */
import { compilePattern, type LinearPattern } from '../expressions/linear-pattern.ts';
import { ParameterError } from '../expressions/parameters.ts';
import { findNearestName } from '../format/nearest.ts';
import type { Plain, PlainMap } from '../format/pipeline.ts';
import { readYaml, YamlError, type YamlTree } from '../format/yaml-tree.ts';
import { findRule, rules } from './builtin/registry.ts';
import { quote, type Rule, type RuleLevel, type RuleOptions, type RuleParameter } from './builtin/rule.ts';
import { getMap } from './facts/reviewed-pipeline.ts';

/** Where a version keeps its rules. Of an entry in both files the one in the second file counts. */
export const rulesFilePaths = [
  '.matillion/config/pipeline_quality_rules.yaml',
  'headgate-rules.yaml',
] as const;

/** Characters of a rules file. */
export const rulesFileLimit = 262_144;
const entryLimit = 500;
const ownRuleLimit = 50;
const expressionLimit = 4_096;
const textLimit = 500;
const wordLimit = 200;

export interface RulesFile {
  path: string;
  text: string;
}

export interface RuleSetting {
  readonly level: RuleLevel;
  readonly options: RuleOptions;
}

/** A rule of the version itself. */
export interface OwnRule {
  readonly id: string;
  readonly level: RuleLevel;
  readonly expression: string;
  readonly message: string;
  readonly file: string;
  readonly line: number;
}

export interface RulesFault {
  file: string;
  line: number;
  message: string;
  level: RuleLevel;
}

export interface RuleSettings {
  /** The rules that are on, by id. */
  readonly enabled: ReadonlyMap<string, RuleSetting>;
  readonly own: readonly OwnRule[];
  readonly faults: readonly RulesFault[];
}

/** What is wrong with a file is a fault; the rest of it counts. */
export async function readRuleSettings(files: readonly RulesFile[]): Promise<RuleSettings> {
  const enabled = new Map<string, RuleSetting>();
  for (const rule of rules)
    if (rule.isOptional !== true)
      enabled.set(rule.id, {
        level: rule.level,
        options: createOptions(rule, new Map(), await standardPatterns(rule)),
      });
  const own = new Map<string, OwnRule>();
  const faults: RulesFault[] = [];
  for (const { path, text } of files) await readFile({ path, text }, { enabled, own, faults });
  return { enabled, own: [...own.values()], faults };
}

interface Gathered {
  enabled: Map<string, RuleSetting>;
  own: Map<string, OwnRule>;
  faults: RulesFault[];
}

async function readFile({ path, text }: RulesFile, gathered: Gathered): Promise<void> {
  const fail = (line: number, message: string, level: RuleLevel = 'ERROR') =>
    gathered.faults.push({ file: path, line, message, level });
  if (text.length > rulesFileLimit) {
    fail(1, `the rules file has more than ${rulesFileLimit} characters: shorten it`);
    return;
  }
  let tree: YamlTree;
  try {
    tree = readYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    fail(
      error.line,
      `the rules file cannot be read: line ${error.line}, column ${error.column}: ${error.message}: correct it`,
    );
    return;
  }
  if (tree.value === null || tree.value === '') return;
  const root = getMap(tree.value);
  for (const member of Object.keys(root))
    if (member !== 'rules')
      fail(tree.locate([member]).line, `the rules file has no member ${quote(member)}: use "rules"`);
  const entries = root.rules ?? (Object.keys(root).length === 0 ? undefined : []);
  if (!Array.isArray(entries)) {
    fail(1, '"rules" must be a list, such as rules: [{id: select-star, enabled: true}]');
    return;
  }
  if (entries.length > entryLimit)
    fail(1, `the rules file has ${entries.length} rules; the limit is ${entryLimit}: remove some`);
  const lines = findEntryLines(text, entries.length);
  for (const [index, entry] of entries.slice(0, entryLimit).entries())
    await readEntry(getMap(entry as Plain), { path, line: lines[index] ?? 1, fail }, gathered);
}

/** The lines of the entries, by their ids in the order of the file. */
function findEntryLines(text: string, count: number): number[] {
  const lines: number[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (/^[ \t]*-[ \t{]/.test(line) || /^[ \t]*-$/.test(line)) lines.push(index + 1);
    if (lines.length === count) break;
  }
  return lines;
}

interface Entry {
  path: string;
  line: number;
  fail(line: number, message: string, level?: RuleLevel): void;
}

const levels: Readonly<Record<string, RuleLevel>> = {
  error: 'ERROR',
  warn: 'WARNING',
  warning: 'WARNING',
  info: 'INFO',
};

const members = ['id', 'enabled', 'enforcementLevel', 'config', 'title', 'expression', 'message'];

async function readEntry(map: PlainMap, { path, line, fail }: Entry, gathered: Gathered): Promise<void> {
  const { id } = map;
  if (typeof id !== 'string' || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(id)) {
    fail(line, 'a rule needs an "id" of lower-case letters, digits and hyphens, such as id: select-star');
    return;
  }
  const unknown = Object.keys(map).find((member) => !members.includes(member));
  if (unknown !== undefined)
    fail(
      line,
      `the rule ${quote(id)} has the member ${quote(unknown)}, which is not known: use ${members.join(', ')}`,
    );
  const isEnabled = readEnabled(map.enabled);
  if (isEnabled === undefined) fail(line, `"enabled" of the rule ${quote(id)} must be true or false`);
  const level =
    map.enforcementLevel === undefined ? undefined : levels[String(map.enforcementLevel).toLowerCase()];
  if (map.enforcementLevel !== undefined && level === undefined)
    fail(
      line,
      `"enforcementLevel" of the rule ${quote(id)} is ${quote(String(map.enforcementLevel))}: use error, warn or info`,
    );
  const rule = findRule(id);
  if (map.expression !== undefined) {
    readOwnRule(
      id,
      map,
      { path, line, fail, level: level ?? 'WARNING', isEnabled: isEnabled !== false },
      gathered,
    );
    return;
  }
  if (rule === undefined) {
    const nearest = findNearestName(
      id,
      rules.map((each) => each.id),
    );
    const remedy =
      nearest === undefined ? 'correct the id, or give it an expression' : `did you mean ${quote(nearest)}?`;
    fail(line, `there is no rule ${quote(id)}: ${remedy}`, 'WARNING');
    return;
  }
  if (isEnabled === false) {
    gathered.enabled.delete(id);
    return;
  }
  const options = await readOptions(rule, map.config, (message) => fail(line, message));
  gathered.enabled.set(id, { level: level ?? rule.level, options });
}

/** Absent: true. */
function readEnabled(value: Plain | undefined): boolean | undefined {
  if (value === undefined) return true;
  const word = String(value).toLowerCase();
  return word === 'true' || word === 'yes' ? true : word === 'false' || word === 'no' ? false : undefined;
}

function readOwnRule(
  id: string,
  map: PlainMap,
  { path, line, fail, level, isEnabled }: Entry & { level: RuleLevel; isEnabled: boolean },
  { own }: Gathered,
): void {
  const fault = findOwnFault(id, map.expression, own);
  if (fault !== undefined) {
    fail(line, fault);
    return;
  }
  const given = [map.message, map.title].find((each) => typeof each === 'string' && each !== '');
  const message = String(given ?? `the rule ${id} is broken`).slice(0, textLimit);
  own.delete(id);
  if (isEnabled) own.set(id, { id, level, expression: String(map.expression), message, file: path, line });
}

function findOwnFault(
  id: string,
  expression: Plain | undefined,
  own: ReadonlyMap<string, OwnRule>,
): string | undefined {
  if (findRule(id) !== undefined)
    return `${quote(id)} is the id of a built-in rule: give your own rule another id`;
  if (typeof expression !== 'string' || expression.trim() === '')
    return `"expression" of the rule ${quote(id)} must be a text with JavaScript`;
  if (expression.length > expressionLimit)
    return `the expression of the rule ${quote(id)} has ${expression.length} characters; the limit is ${expressionLimit}: shorten it`;
  if (!own.has(id) && own.size >= ownRuleLimit)
    return `a version has at most ${ownRuleLimit} rules of its own: remove ${quote(id)} or another one`;
  return undefined;
}

type Values = ReadonlyMap<string, Plain>;
type Patterns = ReadonlyMap<string, { source: string; matches: LinearPattern }>;

async function readOptions(
  rule: Rule,
  config: Plain | undefined,
  fail: (message: string) => void,
): Promise<RuleOptions> {
  const values = new Map<string, Plain>();
  const patterns = new Map(await standardPatterns(rule));
  for (const [name, value] of Object.entries(getMap(config))) {
    const parameter = Object.hasOwn(rule.parameters, name) ? rule.parameters[name] : undefined;
    const fault =
      parameter === undefined ? describeUnknown(rule, name) : findValueFault(name, parameter, value);
    if (fault !== undefined) fail(`${fault} (rule ${quote(rule.id)})`);
    else if (parameter?.kind !== 'pattern') values.set(name, value);
    else
      try {
        patterns.set(name, await compile(name, String(value)));
      } catch (error) {
        if (!(error instanceof ParameterError)) throw error;
        fail(`${error.message} (rule ${quote(rule.id)})`);
      }
  }
  return createOptions(rule, values, patterns);
}

const compile = async (name: string, source: string) => ({
  source,
  matches: await compilePattern(name, source),
});

function describeUnknown({ parameters }: Rule, name: string): string {
  const known = Object.keys(parameters);
  return `there is no parameter ${quote(name)}: ${known.length === 0 ? 'remove "config"' : `use ${known.join(', ')}`}`;
}

function findValueFault(name: string, parameter: RuleParameter, value: Plain): string | undefined {
  if (parameter.kind === 'integer') {
    const { least, most } = parameter;
    const isInteger = typeof value === 'string' && /^\d{1,9}$/.test(value);
    if (isInteger && Number(value) >= least && Number(value) <= most) return undefined;
    return `${quote(name)} must be a whole number from ${least} to ${most}`;
  }
  if (parameter.kind === 'pattern')
    return typeof value === 'string' ? undefined : `${quote(name)} must be a regular expression`;
  const isList =
    Array.isArray(value) &&
    value.length <= wordLimit &&
    value.every((each: Plain) => typeof each === 'string' && each.length <= textLimit);
  return isList
    ? undefined
    : `${quote(name)} must be a list of at most ${wordLimit} texts of at most ${textLimit} characters`;
}

/** The patterns of the standard values, compiled once. */
const compiled = new Map<string, Promise<Patterns>>();

function standardPatterns(rule: Rule): Promise<Patterns> {
  const before = compiled.get(rule.id);
  if (before !== undefined) return before;
  const entries = Object.entries(rule.parameters).flatMap(([name, parameter]) =>
    parameter.kind === 'pattern' ? [[name, parameter.standard] as const] : [],
  );
  const patterns = Promise.all(
    entries.map(async ([name, source]) => [name, await compile(name, source)] as const),
  ).then((all) => new Map(all));
  compiled.set(rule.id, patterns);
  return patterns;
}

function createOptions(rule: Rule, values: Values, patterns: Patterns): RuleOptions {
  const read = <Kind extends RuleParameter['kind']>(name: string, kind: Kind) => {
    const parameter = rule.parameters[name];
    if (parameter?.kind !== kind)
      throw new Error(`the rule ${rule.id} has no parameter ${name} of the kind ${kind}`);
    return parameter as Extract<RuleParameter, { kind: Kind }>;
  };
  const pattern = (name: string) => {
    const found = patterns.get(name);
    if (found === undefined) throw new Error(`the rule ${rule.id} has no pattern ${name}`);
    return found;
  };
  return {
    integer: (name) => Number(values.get(name) ?? read(name, 'integer').standard),
    matches: (name, text) => pattern(name).matches(text),
    pattern: (name) => pattern(name).source,
    words: (name) => (values.get(name) as readonly string[] | undefined) ?? read(name, 'words').standard,
  };
}
