// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
/** Rules about values that differ between environments or days and are written into a pipeline. */
import { readText } from '../../sql/tokens/tokens.ts';
import { listRows, listTexts, type ReviewedComponent, readLiteral } from '../facts/reviewed-pipeline.ts';
import { expressionName, isWord, listTables } from '../facts/sql-statements.ts';
import { listNames, type PipelineRule, quote } from './rule.ts';

/** Components by a value that they name. */
type Named = Map<string, { value: string; components: string[]; parameter: string }>;

function addNamed(named: Named, value: string, component: string, parameter: string): void {
  const found = named.get(value.toLowerCase());
  if (found === undefined) named.set(value.toLowerCase(), { value, components: [component], parameter });
  else if (!found.components.includes(component)) found.components.push(component);
}

/** The `database` or `schema` of parameters, and of names in SQL that have `parts` parts. */
function listPlaces(components: readonly ReviewedComponent[], member: 'database' | 'schema'): Named {
  const named: Named = new Map();
  for (const { name, parameters, sql } of components) {
    const literal = readLiteral(parameters[member]);
    if (literal !== undefined) addNamed(named, literal, name, member);
    for (const { parameter, statements } of sql)
      for (const statement of statements)
        for (const { parts } of listTables(statement)) {
          const part = member === 'database' ? parts.at(-3) : parts.at(-2);
          if (part === undefined || part === '' || part.includes(expressionName)) continue;
          if (member === 'schema' && part.toLowerCase() === 'information_schema') continue;
          addNamed(named, part, name, parameter);
        }
  }
  return named;
}

export const hardCodedDatabases: PipelineRule = {
  id: 'hard-coded-databases',
  scope: 'pipeline',
  title: 'Databases are not written into a pipeline',
  level: 'WARNING',
  reason:
    'A version is promoted from one environment to the next as it is. If it names a database, production reads or writes the database of the tests.',
  remedy:
    'Use `[Environment Default]`, `${sysvar.environment.defaults.database}` or a variable with an override.',
  parameters: { allowed: { kind: 'words', about: 'Databases that are the same everywhere.', standard: [] } },
  bad: `type: transformation
pipeline:
  components:
    Orders: {type: table-input, parameters: {database: DEV_DB, targetTable: orders, columnNames: [id]}}`,
  good: `type: transformation
pipeline:
  components:
    Orders:
      type: table-input
      parameters: {database: "[Environment Default]", targetTable: orders, columnNames: [id]}`,
  check({ components }, report, options) {
    const allowed = new Set(options.words('allowed').map((each) => each.toLowerCase()));
    for (const [key, { value, components: names, parameter }] of listPlaces(components, 'database')) {
      if (allowed.has(key)) continue;
      const message = `the database ${quote(value)} is written into ${listNames(names)}: use [Environment Default] or a variable`;
      report({ component: names[0] as string, at: ['parameters', parameter], message });
    }
  },
};

export const hardCodedSchemas: PipelineRule = {
  id: 'hard-coded-schemas',
  scope: 'pipeline',
  title: 'Schemas are not written into a pipeline',
  level: 'INFO',
  reason:
    'Where environments are schemas of one database, a pipeline that names its schema works in the wrong one.',
  remedy:
    'Use `[Environment Default]`, `${sysvar.environment.defaults.schema}` or a variable with an override.',
  parameters: {
    allowed: {
      kind: 'words',
      about: 'Schemas that are the same everywhere.',
      standard: ['information_schema'],
    },
  },
  bad: `type: transformation
pipeline:
  components:
    Orders: {type: table-input, parameters: {schema: JANES_SCHEMA, targetTable: orders, columnNames: [id]}}`,
  good: `type: transformation
pipeline:
  components:
    Orders: {type: table-input, parameters: {schema: "\${schema}", targetTable: orders, columnNames: [id]}}
  variables:
    schema: {metadata: {type: TEXT}}`,
  check({ components }, report, options) {
    const allowed = new Set(options.words('allowed').map((each) => each.toLowerCase()));
    for (const [key, { value, components: names, parameter }] of listPlaces(components, 'schema')) {
      if (allowed.has(key)) continue;
      const message = `the schema ${quote(value)} is written into ${listNames(names)}: use [Environment Default] or a variable`;
      report({ component: names[0] as string, at: ['parameters', parameter], message });
    }
  },
};

const date = /^\s*(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?\s*$/;

/** Dates in SQL, except in rows to insert, which are data. */
function findSqlDate({ sql }: ReviewedComponent): { parameter: string; value: string } | undefined {
  for (const { parameter, statements } of sql)
    for (const { tokens } of statements) {
      if (tokens.some((token) => isWord(token, 'VALUES'))) continue;
      for (const token of tokens) {
        const value = token.kind === 'text' ? date.exec(readText(token.text))?.[1] : undefined;
        if (value !== undefined && !isBoundary(value)) return { parameter, value };
      }
    }
  return undefined;
}

/** Dates that mean "always" or "never". */
const isBoundary = (value: string) =>
  /^(?:0001|1[0-8]\d\d|1900|(?:19\d\d|2000)-01-01|2[1-9]\d\d|[3-9]\d\d\d)/.test(value);

/** Rows of conditions, whose value is the cell after the comparator. */
const conditionParameters = ['filterConditions', 'condition', 'dataSourceFilter'];

function findConditionDate({
  parameters,
}: ReviewedComponent): { parameter: string; value: string } | undefined {
  for (const parameter of conditionParameters)
    for (const row of listRows(parameters[parameter])) {
      const value = date.exec((row[3] ?? '').replaceAll("'", ''))?.[1];
      if (value !== undefined && !isBoundary(value)) return { parameter, value };
    }
  return undefined;
}

export const hardCodedDates: PipelineRule = {
  id: 'hard-coded-dates',
  scope: 'pipeline',
  title: 'Dates are not written into a pipeline',
  level: 'WARNING',
  reason:
    'A condition with a fixed date was right on the day on which it was written. Later it loads too much, or nothing.',
  remedy: 'Compute the date, such as `current_date - 7`, or read it from a variable.',
  parameters: {
    allowed: { kind: 'words', about: 'Dates that stay right, such as the day of a migration.', standard: [] },
  },
  bad: `type: transformation
pipeline:
  components:
    Orders: {type: sql, parameters: {query: "select id from orders where day >= '2024-01-31'"}}`,
  good: `type: transformation
pipeline:
  components:
    Orders: {type: sql, parameters: {query: "select id from orders where day >= current_date - 7"}}`,
  check({ components }, report, options) {
    for (const component of components) {
      const found = findSqlDate(component) ?? findConditionDate(component);
      if (found === undefined || options.words('allowed').includes(found.value)) continue;
      const message = `the date ${found.value} is written into the component ${quote(component.name)}: compute it, or use a variable`;
      report({ component: component.name, at: ['parameters', found.parameter], message });
    }
  },
};

/** Addresses of services and buckets, numbers of machines, and mailboxes. */
const address =
  /\b(?:https?|s3|gs|azure|abfss|wasbs|sftp|ftp|jdbc:[a-z]{2,20}):\/\/[A-Za-z0-9][^\s"'`<>(){}$,;]{2,300}|(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])|(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}\.[A-Za-z0-9.-]{1,100}[A-Za-z]/g;
/** Documentation of formats, and the machine itself. */
const usualAddress =
  /^(?:https?:\/\/(?:www\.)?(?:w3\.org|json-schema\.org|schemas\.|localhost|127\.)|127\.0\.0\.1$|0\.0\.0\.0$|\d+\.\d+\.\d+\.0$)/;

/** Addresses in comments name a source of knowledge. */
const comments = /(?:^|\n)[ \t]*(?:--|#|\/\/)[^\n]*/g;

export const hardCodedAddresses: PipelineRule = {
  id: 'hard-coded-addresses',
  scope: 'pipeline',
  title: 'Addresses are not written into a pipeline',
  level: 'INFO',
  reason:
    'Addresses of services, buckets and people differ between environments. A test that runs a promoted pipeline then calls the production service, or sends mail to customers.',
  remedy:
    'Keep the address in a variable of the project, with an override for each environment, or in a connector profile.',
  parameters: {
    allowed: { kind: 'words', about: 'Beginnings of addresses that are the same everywhere.', standard: [] },
  },
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Tell]}}
    Tell: {type: webhook-post, parameters: {incomingWebhookUrl: "https://hooks.example.com/services/1", payload: done}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Tell]}}
    Tell: {type: webhook-post, parameters: {incomingWebhookUrl: "\${hook}", payload: done}}
  variables:
    hook: {metadata: {type: TEXT}}`,
  check({ components }, report, options) {
    const allowed = options.words('allowed');
    for (const { name, type, parameters, sql } of components) {
      // Its rows are data.
      if (type === 'fixed-flow') continue;
      for (const { path, text } of listTexts(parameters)) {
        const isSql = sql.some(({ parameter }) => parameter === path[0]);
        const found = (text.replaceAll(comments, '').match(address) ?? []).find(
          (each) =>
            !usualAddress.test(each) &&
            // Mailboxes in SQL are values of rows.
            !(isSql && each.includes('@') && !each.includes('://')) &&
            !allowed.some((start) => each.startsWith(start)),
        );
        if (found === undefined) continue;
        const message = `the address ${quote(found)} is written into the component ${quote(name)}: keep it in a variable`;
        report({ component: name, at: ['parameters', String(path[0])], message });
        break;
      }
    }
  },
};
