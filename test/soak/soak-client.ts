/** A client of the soak: chooses what to do by its own random numbers, and remembers what must be stored. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ApiClient } from '../acceptance/harness/client.ts';
import { Project, sqlScript } from '../acceptance/harness/project.ts';

const RUN_SECONDS = 60;
/** More would only make the lists long. */
const MAXIMUM_VARIABLES = 50;

export class SoakClient {
  readonly #name: string;
  readonly #client: ApiClient;
  readonly #project: Project;
  readonly #random: () => number;
  /** Values by name. */
  readonly #stored = new Map<string, string>();
  #made = 0;
  actions = 0;

  constructor(name: string, client: ApiClient, projectId: string, random: () => number) {
    this.#name = name;
    this.#client = client;
    this.#project = Project.open(client, projectId);
    this.#random = random;
  }

  /** Acts until this time of `performance.now()`. @throws at the first unexpected answer */
  async work(until: number): Promise<void> {
    while (performance.now() < until) {
      await this.#act();
      this.actions += 1;
    }
  }

  async publish(): Promise<void> {
    await this.#project.publish(
      { 'short.orch.yaml': sqlScript('select 1') },
      'dev',
      this.#newName('version'),
    );
  }

  async requireAllStored(): Promise<void> {
    for (const [name, value] of this.#stored)
      assert.equal((await this.#client.ask('GET', this.#pathOf(name))).value, value, name);
  }

  #act(): Promise<void> {
    const chance = this.#random();
    if (chance < 0.35) return this.#stored.size < MAXIMUM_VARIABLES ? this.#create() : this.#remove();
    if (chance < 0.5) return this.#change();
    if (chance < 0.6) return this.#remove();
    if (chance < 0.9) return this.#list();
    if (chance < 0.93) return this.publish();
    return this.#run();
  }

  async #create(): Promise<void> {
    const [name, value] = [this.#newName('variable'), randomUUID()];
    const body = { name, type: 'TEXT', behaviour: 'SHARED', value };
    const path = `${this.#project.path}/variables`;
    const options = { body, key: randomUUID() };
    const first = await this.#client.call('POST', path, options);
    const again = await this.#client.call('POST', path, options);
    assert.deepEqual([first.status, again.status], [201, 201], JSON.stringify(first.body));
    assert.equal(again.body.id, first.body.id);
    this.#stored.set(name, value);
  }

  async #change(): Promise<void> {
    const name = this.#anyStored();
    if (name === undefined) return;
    const value = randomUUID();
    await this.#client.ask('PATCH', this.#pathOf(name), { type: 'TEXT', behaviour: 'SHARED', value });
    this.#stored.set(name, value);
  }

  async #remove(): Promise<void> {
    const name = this.#anyStored();
    if (name === undefined) return;
    await this.#client.ask('DELETE', this.#pathOf(name));
    this.#stored.delete(name);
  }

  async #list(): Promise<void> {
    // Other clients add variables between the count and the page, so that the two may differ.
    const { total } = await this.#client.ask('GET', `${this.#project.path}/variables?size=100`);
    assert.ok(total >= this.#stored.size, `${total} variables`);
  }

  async #run(): Promise<void> {
    const run = await this.#project.run('short', 'dev', RUN_SECONDS);
    assert.equal(run.status, 'SUCCESS', run.message);
  }

  #anyStored(): string | undefined {
    return [...this.#stored.keys()][Math.floor(this.#random() * this.#stored.size)];
  }

  #newName(kind: string): string {
    this.#made += 1;
    return `${kind}_${this.#name}_${this.#made}`;
  }

  #pathOf(variable: string): string {
    return `${this.#project.path}/variables/${variable}`;
  }
}
