// Runs the program http-retry, once for each message, on as much of WASI (preview 1) as it needs: arguments, standard
// input and output, clocks and random numbers. It has no files and no network.

const SUCCESS = 0;
const NO_SUCH_FILE = 8;
const NOT_SUPPORTED = 52;
const CHARACTER_DEVICE = 2;

/** The end of the program, by its exit code. */
class Exit extends Error {
    constructor(code) {
        super(`exit code ${code}`);
        this.code = code;
    }
}

/** The functions that the program imports. */
function host(args, stdin, memory) {
    const text = new TextEncoder();
    const view = () => new DataView(memory().buffer);
    const bytes = () => new Uint8Array(memory().buffer);
    const output = [[], []];
    const input = text.encode(stdin);
    let read = 0;

    /** Writes texts that end with 0, and where each of them is. */
    const list = (texts, places, to) => {
        for (const item of texts) {
            view().setUint32(places, to, true);
            const encoded = text.encode(`${item}\0`);
            bytes().set(encoded, to);
            places += 4;
            to += encoded.length;
        }
        return SUCCESS;
    };
    const sizes = (texts, count, size) => {
        view().setUint32(count, texts.length, true);
        view().setUint32(size, texts.reduce((sum, item) => sum + text.encode(item).length + 1, 0), true);
        return SUCCESS;
    };
    /** Calls a function with each buffer of a list, until it returns less than the buffer's length. */
    const buffers = (places, count, done, use) => {
        let all = 0;
        for (let i = 0; i < count; i += 1) {
            const at = view().getUint32(places + 8 * i, true);
            const length = view().getUint32(places + 8 * i + 4, true);
            const used = use(at, length);
            all += used;
            if (used < length) break;
        }
        view().setUint32(done, all, true);
        return SUCCESS;
    };
    const environment = ["NO_COLOR=1"];
    const functions = {
        args_get: (places, to) => list(args, places, to),
        args_sizes_get: (count, size) => sizes(args, count, size),
        environ_get: (places, to) => list(environment, places, to),
        environ_sizes_get: (count, size) => sizes(environment, count, size),
        clock_time_get: (clock, _, to) => {
            const millis = clock === 0 ? Date.now() : performance.now();
            view().setBigUint64(to, BigInt(Math.round(millis * 1e6)), true);
            return SUCCESS;
        },
        random_get: (at, length) => {
            for (let done = 0; done < length; done += 65_536) {
                crypto.getRandomValues(bytes().subarray(at + done, at + Math.min(done + 65_536, length)));
            }
            return SUCCESS;
        },
        fd_read: (file, places, count, done) => {
            if (file !== 0) return NO_SUCH_FILE;
            return buffers(places, count, done, (at, length) => {
                const part = input.subarray(read, read + length);
                bytes().set(part, at);
                read += part.length;
                return part.length;
            });
        },
        fd_write: (file, places, count, done) => {
            if (file !== 1 && file !== 2) return NO_SUCH_FILE;
            return buffers(places, count, done, (at, length) => {
                output[file - 1].push(bytes().slice(at, at + length));
                return length;
            });
        },
        fd_fdstat_get: (file, to) => {
            if (file > 2) return NO_SUCH_FILE;
            bytes().fill(0, to, to + 24);
            view().setUint8(to, CHARACTER_DEVICE);
            return SUCCESS;
        },
        fd_close: () => SUCCESS,
        fd_prestat_get: () => NO_SUCH_FILE,
        sched_yield: () => SUCCESS,
        proc_exit: (code) => { throw new Exit(code); },
    };
    const said = (parts) => parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
    const decoder = new TextDecoder();
    return { functions, stdout: () => said(output[0]), stderr: () => said(output[1]) };
}

function run(module, args, stdin) {
    let memory;
    const { functions, stdout, stderr } = host(["http-retry", ...args], stdin, () => memory);
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
        imports[from] ??= {};
        imports[from][name] = functions[name] ?? (() => NOT_SUPPORTED);
    }
    const { exports } = new WebAssembly.Instance(module, imports);
    memory = exports.memory;
    let code = 0;
    try {
        exports._start();
    } catch (error) {
        if (!(error instanceof Exit)) throw error;
        code = error.code;
    }
    return { code, stdout: stdout(), stderr: stderr() };
}

let module;
onmessage = ({ data }) => {
    if (data.module) {
        module = data.module;
        return;
    }
    postMessage({ id: data.id, ...run(module, data.args, data.stdin) });
};
