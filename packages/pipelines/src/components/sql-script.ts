/** Runs the user's SQL statements in order. */
import { ParameterError } from '../parameters.ts';
import type { OrchestrationDefinition } from './component.ts';

export const sqlScript: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  required: ['sqlScript'],
  optional: [],
  plan({ parameters, dialect }) {
    const statements = dialect.user.script(parameters.text('sqlScript'));
    if (statements.length === 0) throw new ParameterError('"sqlScript" has no statement: add one');
    return { action: 'execute', statements, notes: statements.flatMap(({ notes }) => notes) };
  },
};
