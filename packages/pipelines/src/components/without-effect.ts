/**
 * Components that prepare or tune a vendor's warehouse. They succeed and say that they have no effect here.
 * A component without which later results would be wrong does not belong here, but in refused-types.ts.
 */
import { ParameterError } from '../expressions/parameters.ts';
import type { OrchestrationDefinition } from './definition/component.ts';

function createWithoutEffect(
  type: string,
  {
    does,
    why,
    noEffect,
    aliases,
  }: { does: string; why: string; noEffect: readonly string[]; aliases?: readonly string[] },
): OrchestrationDefinition {
  return {
    kind: 'orchestration',
    about: `${does} It has no effect here, because ${why}. The step succeeds and says so.`,
    group: 'tables',
    parameters: {},
    noEffect,
    ...(aliases === undefined ? {} : { aliases }),
    example: `type: ${type}`,
    plan: () => ({ action: 'pass', message: `${type} has no effect here, because ${why}` }),
  };
}

const place = ['database', 'schema', 'catalog', 'warehouse'];

export const alterWarehouse = createWithoutEffect('alter-warehouse', {
  does: 'Sets, resumes or suspends the compute of a vendor’s warehouse.',
  why: 'the embedded warehouse has no compute of its own',
  noEffect: ['warehouse', 'commandType', 'properties'],
});

const searchOptimization = createWithoutEffect('alter-table', {
  does: 'Switches the search optimization of a vendor’s table.',
  why: 'the embedded warehouse has no search optimization',
  noEffect: [...place, 'targetTable', 'searchOptimizationService'],
});

export const alterTable: OrchestrationDefinition = {
  ...searchOptimization,
  plan(context) {
    const known = [...(searchOptimization.noEffect ?? []), 'componentName'];
    const values = Object.entries(context.component.parameters);
    const other = values.find(([name, value]) => !known.includes(name) && (value ?? '') !== '')?.[0];
    if (other === undefined) return searchOptimization.plan(context);
    throw new ParameterError(
      `"${other}" is not supported, only the search optimization: write ALTER TABLE in a sql-script`,
    );
  },
};

export const createFileFormat = createWithoutEffect('create-file-format', {
  does: 'Names a file format in a vendor’s warehouse.',
  why: 'a component that loads a file names its format itself',
  noEffect: [
    ...place,
    ...['createReplace', 'fileFormatName', 'fileType', 'compression', 'recordDelimiter', 'fieldDelimiter'],
    ...['skipHeader', 'skipBlankLines', 'dateFormat', 'timeFormat', 'timestampFormat', 'escape'],
    ...['escapeUnenclosedField', 'trimSpace', 'trimSpace2', 'fieldOptionallyEnclosed', 'nullIf', 'nullIf2'],
    ...['errorOnColumnCountMismatch', 'emptyFieldAsNull', 'replaceInvalidCharacters', 'encodingType'],
    ...[
      'ignoreUtf8Errors1',
      'preserveSpace',
      'stripOuterElement',
      'disableSnowflakeData',
      'disableAutoConvert',
    ],
  ],
});

export const analyzeTables = createWithoutEffect('analyze-tables', {
  does: 'Updates the statistics of a vendor’s tables.',
  why: 'the embedded warehouse keeps its statistics itself',
  noEffect: [...place, 'targetTable', 'tablesToAnalyze', 'tables', 'analyzeOptions'],
  aliases: ['analyze-table'],
});

export const vacuumTables = createWithoutEffect('vacuum-tables', {
  does: 'Reclaims the space of deleted rows of a vendor’s tables.',
  why: 'the embedded warehouse reclaims space itself',
  noEffect: [...place, 'targetTable', 'tablesToVacuum', 'tables', 'vacuumOptions'],
  aliases: ['vacuum', 'vacuum-table'],
});
