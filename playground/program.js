// The program http-retry, in workers of this page.

const compiled = WebAssembly.compileStreaming(fetch("http-retry.wasm"));

/** A worker that runs one command at a time. A new one takes the place of one under way. */
export class Program {
    #worker;
    #under_way;

    /** Runs a command, and returns its exit code and what it printed, or nothing if another took its place. */
    async run(args, stdin) {
        const id = Symbol("run");
        if (this.#under_way) {
            this.#worker.terminate();
            this.#worker = undefined;
            this.#under_way.resolve(undefined);
        }
        const ended = Promise.withResolvers();
        this.#under_way = { id, resolve: ended.resolve };
        const module = await compiled;
        if (this.#under_way?.id !== id) return ended.promise;
        if (!this.#worker) {
            this.#worker = new Worker("worker.js", { type: "module" });
            this.#worker.postMessage({ module });
        }
        const finish = (result) => {
            this.#under_way = undefined;
            ended.resolve(result);
        };
        this.#worker.onmessage = ({ data }) => finish(data);
        this.#worker.onerror = (error) => {
            this.#worker = undefined;
            finish({ code: 2, stdout: "", stderr: error.message });
        };
        this.#worker.postMessage({ args, stdin });
        return ended.promise;
    }
}
