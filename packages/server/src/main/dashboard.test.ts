/** The dashboard and the alarms in docs/ use only metrics and labels that the server exports. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { examples } from '../../testing/guards.ts';
import { createPlace } from '../../testing/place.ts';
import { startTestServer } from '../../testing/server.ts';
import { fireDueSchedules } from '../runtime/schedules/schedule-ticks.ts';

const fileOf = (name: string) => readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8');

interface Target {
  expr: string;
  legendFormat: string;
  datasource: { uid: string };
}
interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: Target[];
}
const dashboard = JSON.parse(fileOf('grafana-dashboard.json')) as {
  title: string;
  schemaVersion: number;
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
};

/** The labels of each exported metric. A histogram has its three series. */
async function shownMetrics(): Promise<Map<string, Set<string>>> {
  const server = await startTestServer();
  const place = await createPlace(await server.account());
  // Ends an execution, for the metrics of ended work.
  const example = (await examples.getPipelineExecution?.(place)) ?? assert.fail();
  await place.account.admin.get(example.path);
  // Fires a schedule, for the metrics of ticks.
  const schedule = (await examples.createSchedule?.(place)) ?? assert.fail();
  await place.account.admin.send('POST', schedule.path, schedule);
  server.clock.advance(7 * 86_400);
  await fireDueSchedules(server.deps);
  const { text } = await server.transport({ method: 'GET', url: '/metrics', headers: {}, body: undefined });
  const metrics = new Map<string, Set<string>>();
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? /gm)) {
    const known = metrics.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    metrics.set(name, known);
  }
  // A metric with labels has no line before its first count, but a type.
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)/gm)) {
    const series = type === 'histogram' ? [name, `${name}_count`, `${name}_sum`, `${name}_bucket`] : [name];
    for (const each of series) metrics.set(each, metrics.get(each) ?? new Set());
  }
  return metrics;
}

const metrics = await shownMetrics();
/** Labels that Prometheus adds to everything it scrapes. */
const labelsOfScrapes = ['job', 'instance'];

function requireShown(expression: string, what: string): void {
  const labels = new Set(labelsOfScrapes);
  const names = [...expression.matchAll(/\bheadgate_\w+/g)].map(([name]) => name);
  assert.ok(names.length > 0, what);
  for (const name of names) {
    assert.ok(metrics.has(name), `${what}: ${name} is not shown`);
    for (const label of metrics.get(name) ?? []) labels.add(label);
  }
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(/,\s*/),
  );
  const selected = [...expression.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label);
  for (const label of [...grouped, ...selected]) assert.ok(labels.has(label), `${what}: ${label}`);
}

test('the dashboard uses only metrics and labels of /metrics', () => {
  for (const { title, targets } of dashboard.panels) {
    for (const { expr, legendFormat } of targets) {
      requireShown(expr, title);
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
        assert.ok(/\bby \(/.test(expr) ? expr.includes(label) : label === 'instance', `${title}: ${label}`);
      }
    }
  }
  for (const { definition } of dashboard.templating.list) {
    if (definition !== undefined) requireShown(definition, 'a variable');
  }
});

test('the dashboard can be imported: unique panels that do not overlap, with a data source to choose', () => {
  const { panels, templating } = dashboard;
  assert.ok(dashboard.title && dashboard.schemaVersion >= 36);
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const variables = new Set(templating.list.map(({ name }) => name));
  const places = new Set<string>();
  for (const { title, gridPos, targets } of panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(!places.has(`${x} ${y}`), `${title} lies over another panel`);
        places.add(`${x} ${y}`);
      }
    }
    for (const { expr, datasource } of targets) {
      assert.match(datasource.uid, /^\$\{datasource\}$/, title);
      for (const [, name = ''] of expr.matchAll(/\$(?!__)(\w+)/g)) assert.ok(variables.has(name), name);
    }
  }
});

test('operations.md names only metrics of /metrics', () => {
  const text = fileOf('operations.md');
  const families = new Set([...metrics.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  for (const [name] of text.matchAll(/\bheadgate_\w+[a-z]\b/g)) {
    assert.ok(metrics.has(name) || families.has(name), name);
  }
  const alarms = [...text.matchAll(/^\| `([^`]*headgate_[^`]*)`/gm)].map(([, expression = '']) => expression);
  assert.ok(alarms.length >= 4);
  for (const expression of alarms.filter((each) => each.includes('{') || each.includes('('))) {
    requireShown(expression, expression);
  }
});
