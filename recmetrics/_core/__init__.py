"""The product: scores and truth in, values out.

    compute           ``Metrics``: the data flow as four lines, and a method for each metric
    evaluator         ``Evaluator``: users in batches
    stream            ``StreamEvaluator``: batches of events, such as sessions, without user ids
    warmup            compilation ahead of the first call

    results/          values: one kernel per metric, ``undefined=``, notes, batches, saved state
    metrics/          each metric: its options, reference, kernel and declaration
    selection/        ranks of the relevant items; lists; the only kernels that compare scores
    inputs/           scores, truth, item sets and side information -> one internal form
    spec/             metric strings, the registry, the conventions, the ``Request``

    options           the shared keywords; checks of single values; the number of threads
    threads           row blocks in threads; progress
    jit               the decorators of kernels, and when they are compiled
    machine_code      compilation by Numba, and the stamp of the cached machine code
    numba_internals   the internals of Numba
    errors            exceptions, warnings, and the command that installs an extra
    types             types of inputs and outputs

To follow one call, read ``Metrics.compute`` and then the four functions that it calls. Nothing here
imports from the other rooms of the package.
"""
