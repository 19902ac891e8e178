/**
 * Loaded before the tests of slices. A test that starts DuckDB's process in its own gets the bundle
 * (test-programs.ts): the sources take four times as long to load.
 */
import { registerHooks } from 'node:module';

const bundle = process.env.HEADGATE_TEST_DUCKDB;
const STARTER = '/packages/agent/src/warehouses/duckdb-database.ts';
const PROGRAM = "new URL('./duckdb-process.ts', import.meta.url)";

if (bundle !== undefined)
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith(STARTER)) return loaded;
      const text = String(loaded.source);
      if (!text.includes(PROGRAM)) throw new Error(`${STARTER} does not start DuckDB by ${PROGRAM} any more`);
      return { ...loaded, source: text.replace(PROGRAM, `new URL(${JSON.stringify(bundle)})`) };
    },
  });
