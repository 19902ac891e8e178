/** The values of a rule's parameters: those of the rules file, else the standard ones. */
import { compilePattern, type LinearPattern } from '../expressions/linear-pattern.ts';
import { ParameterError } from '../expressions/parameters.ts';
import type { Plain } from '../format/pipeline.ts';
import { quote, type Rule, type RuleOptions, type RuleParameter } from './builtin/rule.ts';
import { getMap } from './facts/reviewed-pipeline.ts';

/** Characters of a word, and words of a list. */
const textLimit = 500;
const wordLimit = 200;

type Values = ReadonlyMap<string, Plain>;
type Patterns = ReadonlyMap<string, { source: string; matches: LinearPattern }>;

/** What is wrong is passed to `fail`; its parameter keeps the standard value. */
export async function readOptions(
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
