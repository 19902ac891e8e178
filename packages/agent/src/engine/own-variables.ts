/** The variables of a pipeline that starts, with their default values; one whose default is a secret has that of the secret. */
import {
  declaredVariable,
  type Pipeline,
  secretOfDefault,
  type Variable,
  type VariableDeclaration,
} from '@headgate/pipelines';
import { messageOf, type RunContext } from './run-context.ts';

/**
 * @param given names of those whose default does not count
 * @throws VariableError, and Error when a secret cannot be had
 */
export function ownVariables(
  context: RunContext,
  pipeline: Pipeline,
  given: ReadonlySet<string>,
): Promise<Variable[]> {
  async function valued(declaration: VariableDeclaration): Promise<Variable> {
    const secret = secretOfDefault(declaration.defaultValue);
    if (secret === undefined) return declaredVariable(declaration);
    if (given.has(declaration.name)) return declaredVariable({ ...declaration, defaultValue: '' });
    const defaultValue = await context.readSecret(secret).catch((error) => {
      throw new Error(`${pipeline.path}: the variable "${declaration.name}": ${messageOf(error)}`);
    });
    return declaredVariable({ ...declaration, defaultValue });
  }
  return Promise.all([...pipeline.variables.values()].map(valued));
}
