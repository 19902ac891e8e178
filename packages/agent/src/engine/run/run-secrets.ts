/** The secrets of one run. Each is read once, when an expression needs it, and then masked in all output. */
import type { Step } from '@headgate/contract';
import { Secret } from '@headgate/contract/without-schemas';
import type { LexicalRules, SecretSource, StoreAddress } from '@headgate/pipelines';
import { Masking } from '../../secrets/masking.ts';
import type { CopiedFile, RunPorts, Warehouse } from '../ports/ports.ts';
import { bindSecrets } from '../session/bound-secrets.ts';
import { createBoundedLog } from './bounded-log.ts';

/** Secrets that one run may read. */
const secretLimit = 100;

export interface RunSecrets {
  source: SecretSource;
  /**
   * The ports with masked output. SQL is passed to the warehouse unchanged; its error messages are masked.
   */
  ports: RunPorts;
  mask(text: string): string;
}

/** @param rules of a warehouse that shows statements to others, so that secrets are bound */
export function createRunSecrets(ports: RunPorts, rules?: LexicalRules): RunSecrets {
  const masking = new Masking();
  const values = new Map<string, Promise<string>>();

  async function readFirst(name: string): Promise<string> {
    if (values.size >= secretLimit)
      throw new Error(`the run uses more than ${secretLimit} secrets, which is the limit: use fewer`);
    const value = await ports.secret(name);
    masking.add(new Secret(value));
    return value;
  }

  function read(name: string): Promise<string> {
    const known = values.get(name);
    if (known !== undefined) return known;
    const reading = readFirst(name);
    values.set(name, reading);
    // Forget a failure, so that a later use tries again.
    reading.catch(() => values.delete(name));
    return reading;
  }

  const mask = (text: string) => masking.mask(text);
  return {
    source: { read, conceal: (message) => masking.conceal(message) },
    ports: {
      ...ports,
      warehouse: createConcealingWarehouse(ports.warehouse, masking, rules),
      // What it ran has no secrets any more.
      report: (step, ran) => ports.report(maskStep(step, masking), ran),
      log: createBoundedLog(ports.log, mask),
    },
    mask,
  };
}

/** Databases quote statements, or parts of them, in error messages. */
function createConcealingWarehouse(
  warehouse: Warehouse,
  masking: Masking,
  rules: LexicalRules | undefined,
): Warehouse {
  const { copy, executeInStore } = warehouse;
  const bind = (sql: string) =>
    rules === undefined ? undefined : bindSecrets(sql, rules, (text) => masking.mask(text));
  const conceal = (sql: string) => (error: unknown) => {
    // The SQL may have a value in parts, because it was rewritten.
    if (error instanceof Error && masking.conceal(sql) !== sql)
      throw new Error(masking.conceal(error.message));
    throw error;
  };
  return {
    execute: (sql, session, limit) => warehouse.execute(sql, session, limit, bind(sql)).catch(conceal(sql)),
    query: (sql, maxRows, session, limit) =>
      warehouse.query(sql, maxRows, session, limit, bind(sql)).catch(conceal(sql)),
    ...(executeInStore === undefined
      ? {}
      : {
          executeInStore: (sql: string, store: StoreAddress, session?: number, limit?: AbortSignal) =>
            executeInStore(sql, store, session, limit).catch(conceal(sql)),
        }),
    ...(copy === undefined
      ? {}
      : {
          copy: (sql: string, file: CopiedFile, session?: number, limit?: AbortSignal) =>
            copy(sql, file, session, limit).catch(conceal(sql)),
        }),
  };
}

/** Names are masked too: the name of a called pipeline may come from an expression. */
function maskStep(step: Step, masking: Masking): Step {
  const { message, sql, childPipeline } = step;
  const mask = (text: string) => masking.mask(text);
  return {
    ...step,
    name: mask(step.name),
    ...(message === undefined ? {} : { message: mask(message) }),
    ...(sql === undefined ? {} : { sql: mask(sql) }),
    ...(childPipeline === undefined
      ? {}
      : { childPipeline: { ...childPipeline, name: mask(childPipeline.name) } }),
  };
}
