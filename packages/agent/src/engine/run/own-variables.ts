/** Reads the variables of a starting pipeline with their default values. A default may be a secret. */
import {
  createDeclaredVariable,
  findSecretOfDefault,
  type Pipeline,
  setDefault,
  type Variable,
  type VariableDeclaration,
} from '@headgate/pipelines';
import { getMessage, type RunContext } from '../context/run-context.ts';

/**
 * @param given names of variables that get another value, so that a secret as default is not read
 * @throws VariableError, or Error if a secret cannot be read
 */
export function readOwnVariables(
  context: RunContext,
  pipeline: Pipeline,
  given: ReadonlySet<string>,
): Promise<Variable[]> {
  async function createVariable(declaration: VariableDeclaration): Promise<Variable> {
    const secret = findSecretOfDefault(declaration.defaultValue);
    if (secret === undefined) return createDeclaredVariable(declaration);
    if (given.has(declaration.name)) return createDeclaredVariable({ ...declaration, defaultValue: '' });
    const defaultValue = await context.readSecret(secret).catch((error) => {
      throw new Error(`${pipeline.path}: the variable "${declaration.name}": ${getMessage(error)}`);
    });
    // A secret's value is never a template.
    return setDefault(createDeclaredVariable({ ...declaration, defaultValue: '' }), defaultValue);
  }
  return Promise.all([...pipeline.variables.values()].map(createVariable));
}
