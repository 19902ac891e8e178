/** Parameters that are misspelled are reported; those of other warehouses are not. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { outlineFile } from '../check/outline.ts';
import { findDefinition, listComponentTypes } from '../components/registry.ts';
import type { Draft } from './finding.ts';
import { checkParameterNames } from './validate-parameters.ts';

function findings(type: string, parameters: Record<string, string>): Draft[] {
  const definition = findDefinition(type);
  assert.ok(definition);
  const found: Draft[] = [];
  checkParameterNames({ name: 'C', type, parameters }, definition, (draft) => found.push(draft));
  return found;
}
const valuesOf = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, 'x']));

/** Parameters that public pipelines have, by type. */
const seen: Record<string, string> = {
  'run-transformation': 'componentName transformationJob transformationPipelineLink',
  'run-orchestration': 'componentName orchestrationJob',
  'create-table':
    'componentName createReplace newTableName columns defaultDdlCollation clusteringKeys dataRetentionTimeInDays comment',
  'query-to-scalar': 'componentName mode scalarVariableMapping query filterConditions',
  if: 'componentName mode condition condition1',
  'print-variables': 'componentName variablesToPrint',
  'grid-iterator':
    'componentName gridVariable gridIteratorVariableMapping stopOnCondition recordValuesInTaskHistory',
  'create-table-v2':
    'componentName createMethod database schema table snowflakeTableType columns defaultDdlCollation primaryKeys clusteringKeys dataRetentionTimeInDays comment catalog tableMetadata tableType',
  'assert-table':
    'componentName database schema tableName exists tableMetadata rowCountComparisonType rowCountValue',
  'sql-executor':
    'componentName scriptLocation declareSqlVariables variablesToInclude sqlScript enableVariableResolution fileName',
  'table-iterator':
    'componentName mode database schema targetTable concurrency columnMapping orderBy sort breakOnFailure',
  'table-iterator-v2': 'componentName mode concurrency breakOnFailure query columnMapping1',
  'fixed-iterator':
    'componentName concurrency variablesToIterate iterationValues breakOnFailure stopOnCondition recordValuesInTaskHistory',
  'loop-iterator':
    'componentName concurrency variableToIterate startingValue incrementValue endValue breakOnFailure stopOnCondition recordValuesInTaskHistory',
  'file-iterator':
    'componentName inputDataType inputDataUrl1 maxIterations filterRegex concurrency variables breakOnFailure stopOnCondition recordValuesInTaskHistory recursive inputDataUrl3',
  retry: 'componentName numberOfRetries retryDelay',
  'query-to-grid': 'componentName mode query gridVariable gridVariableMapping',
  'table-metadata-to-grid': 'componentName database schema gridVariable gridVariableMapping targetTable',
  'append-to-grid': 'componentName operation targetGridVariable valuesGrid',
  'remove-from-grid': 'componentName targetGridVariable operation keyColumns valuesGrid',
  'delete-tables': 'componentName database schema targetTable ignoreMissing',
  'truncate-table': 'componentName warehouse database schema targetTable',
  'alter-warehouse': 'componentName warehouse commandType properties',
  'alter-table': 'componentName targetTable schema database searchOptimizationService',
  'refresh-external-table': 'componentName database schema targetTable relativeSubpath',
  'create-file-format':
    'componentName createReplace database schema fileFormatName fileType compression recordDelimiter fieldDelimiter skipHeader skipBlankLines dateFormat timeFormat timestampFormat escape escapeUnenclosedField trimSpace2 fieldOptionallyEnclosed nullIf2 errorOnColumnCountMismatch emptyFieldAsNull replaceInvalidCharacters encodingType ignoreUtf8Errors1 preserveSpace stripOuterElement disableSnowflakeData disableAutoConvert',
  'run-shared-pipeline': 'componentName pipelineName version setScalarVariables setGridVariables',
  'sql-script': 'componentName sqlScript',
  'update-scalar': 'componentName scalarsToUpdate',
  'table-input': 'componentName targetTable timeOffset catalog offsetType',
  calculator: 'componentName calculations',
  'rewrite-table': 'componentName warehouse targetTable',
  join: 'componentName mainTable mainTableAlias joins joinExpressions columnMappings',
  filter: 'componentName filterConditions mode',
  sql: 'componentName query',
  rename: 'componentName columnMapping',
  'table-output': 'componentName warehouse targetTable fixDataTypeMismatches',
  aggregate: 'componentName aggregations',
  'fixed-flow': 'componentName columns',
  rank: 'componentName functions orderingWithinPartitions',
  unite: 'componentName castTypes',
};

describe('the names of parameters', () => {
  it('of public pipelines give no finding', () => {
    for (const [type, names] of Object.entries(seen))
      assert.deepEqual(findings(type, valuesOf(names)), [], type);
  });

  const misspelled: [type: string, rest: string, written: string, meant: string][] = [
    ['create-table', 'newTableName columns', 'createReplce', 'createReplace'],
    ['run-orchestration', 'orchestrationJob', 'setScalarVariable', 'setScalarVariables'],
    ['if', 'mode condition', 'combineCondition', 'combineConditions'],
    ['filter', 'filterConditions', 'combineConditions', 'combineCondition'],
    ['unite', 'method', 'removeDuplicate', 'removeDuplicates'],
    ['unite', 'method', 'REMOVEDUPLICATES', 'removeDuplicates'],
  ];
  for (const [type, rest, written, meant] of misspelled) {
    it(`"${written}" of ${type} is an error, unless the parameter it means is present`, () => {
      const input = valuesOf(`${rest} ${written}`);
      const message = `"${written}" is not a parameter of ${type}; did you mean "${meant}"?`;
      const at = ['parameters', written];
      const error = { component: 'C', at, code: 'misspelled-parameter', message, level: 'error' };
      assert.deepEqual(findings(type, input), [error]);
      assert.deepEqual(findings(type, { ...input, [meant]: '' }), [error]);
      assert.deepEqual(findings(type, { ...input, [written]: '' }), [{ ...error, level: 'warning' }]);
      assert.deepEqual(findings(type, { ...input, [meant]: 'x' }), []);
    });
  }

  it('that a component reads are all declared in its definition', () => {
    const folder = new URL('../components/', import.meta.url);
    const all = new Set<string>();
    const own = new Map<string, Set<string>>();
    for (const type of [...listComponentTypes('orchestration'), ...listComponentTypes('transformation')]) {
      const definition = findDefinition(type);
      const names = Object.keys(definition?.parameters ?? {});
      own.set(`${type}.ts`, new Set(names));
      for (const name of names) all.add(name);
    }
    let read = 0;
    const files = readdirSync(folder, { encoding: 'utf8', recursive: true });
    for (const file of files.filter((each) => each.endsWith('.ts'))) {
      const text = readFileSync(new URL(file, folder), 'utf8');
      const reads =
        /parameters\s*\.\w+(?:<\w+>)?\(\s*'(\w+)'|(?:orderBy|tableReference)\(parameters, '(\w+)'/g;
      for (const [, one, other] of text.matchAll(reads)) {
        read += 1;
        const name = one ?? other ?? '';
        assert.ok((own.get(file) ?? all).has(name), `${file} reads "${name}": declare it in "parameters"`);
      }
      const names = own.get(file);
      if (names === undefined || !text.includes('tableReference(')) continue;
      assert.ok(names.has('database') && names.has('schema'), `${file}: declare database and schema`);
    }
    assert.ok(read > 50, `${read}`);
  });
});

describe('a finding reports a component without effect:', () => {
  const warned = (components: object, type = 'orchestration') => {
    const extension = type === 'orchestration' ? 'orch' : 'tran';
    const text = JSON.stringify({ type, version: '1.0', pipeline: { components } });
    const { outline } = outlineFile(`p.${extension}.yaml`, text);
    const notes = (outline?.notes ?? []).filter((note) => 'code' in note && note.code === 'no-effect');
    return notes.map((note) => 'message' in note && `${note.level} ${note.component}: ${note.message}`);
  };
  const start = { type: 'start', parameters: {}, transitions: { success: ['C'] } };

  it('an empty list', () => {
    for (const [type, list] of [
      ['update-scalar', 'scalarsToUpdate'],
      ['query-to-scalar', 'scalarVariableMapping'],
      ['print-variables', 'variablesToPrint'],
    ] as const) {
      const empty = { type, parameters: { [list]: [] } };
      const message = `error C: "${list}" is empty, so the component does nothing: add a row or remove the component`;
      assert.deepEqual(warned({ Start: start, C: empty }), [message]);
      assert.deepEqual(warned({ Start: start, C: { type, parameters: { [list]: [['a', 'b']] } } }), []);
    }
    const updating = { type: 'print-variables', parameters: { variablesToPrint: [] } };
    const postProcessing = { updateScalarVariables: [['x', '1']] };
    assert.match(String(warned({ Start: start, C: { ...updating, postProcessing } })), /^warning C/);
    const iterator = { type: 'grid-iterator', parameters: { gridIteratorVariableMapping: [] } };
    assert.match(
      String(warned({ Start: start, C: iterator })),
      /^warning C: .*every iteration runs the same/,
    );
    const filter = { type: 'filter', sources: [], parameters: { filterConditions: [] } };
    assert.match(String(warned({ F: filter }, 'transformation')), /"filterConditions" is empty/);
  });

  it('a start with only a failure transition', () => {
    const failing = { type: 'start', parameters: {}, transitions: { failure: ['C'] } };
    const c = { type: 'end-success', parameters: {} };
    assert.match(String(warned({ Start: failing, C: c })), /start never fails.*use unconditional/);
    assert.deepEqual(warned({ Start: start, C: c }), []);
  });
});
