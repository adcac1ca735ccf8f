//! NVRTC, which compiles CUDA C on machines with no GPU.

use std::{
    env,
    ffi::{CStr, CString, c_char, c_int, c_void},
    fs,
    path::{Path, PathBuf},
    ptr,
};

use libloading::Library;

/// NVRTC, loaded at run time.
pub struct Nvrtc {
    library: Library,
    /// Kept loaded: NVRTC finds it by name.
    _builtins: Option<Library>,
}

type Program = *mut c_void;

impl Nvrtc {
    /// Looks in LAZULI_NVRTC_DIR, where packages put it, and in the loader's own path; the error lists what was tried.
    pub fn open() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut folders: Vec<PathBuf> = env::var_os("LAZULI_NVRTC_DIR").map(PathBuf::from).into_iter().collect();
        folders.push("/opt/nvrtc/nvidia/cu13/lib".into());
        folders.push("/usr/local/cuda/lib64".into());
        for lib in fs::read_dir(root.join(".venv/lib")).into_iter().flatten().flatten() {
            let packages = lib.path().join("site-packages/nvidia");
            folders.extend(["cu13/lib", "cuda_nvrtc/lib"].map(|folder| packages.join(folder)));
        }
        folders.push(PathBuf::new());
        let mut tried = Vec::new();
        for folder in folders {
            for name in ["libnvrtc.so.13", "libnvrtc.so.12"] {
                let path = folder.join(name);
                let builtins =
                    fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).find(|path| {
                        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                        name.starts_with("libnvrtc-builtins.so.")
                    });
                // SAFETY: these are NVIDIA's libraries, whose initialisers do nothing but set themselves up.
                unsafe {
                    let builtins = builtins.and_then(|path| Library::new(path).ok());
                    match Library::new(&path) {
                        Ok(library) => return Ok(Self { library, _builtins: builtins }),
                        Err(_) => tried.push(path.display().to_string()),
                    }
                }
            }
        }
        Err(tried.join(", "))
    }

    /// Compiles for compute_90; the error is the compiler's log.
    pub fn ptx(&self, text: &str) -> Result<String, String> {
        let text = CString::new(text).expect("text");
        let options = [c"--gpu-architecture=compute_90", c"--fmad=false"].map(CStr::as_ptr);
        // SAFETY: the signatures are those of nvrtc.h, every pointer outlives its call, and buffers are as long as NVRTC
        // says its answers are.
        unsafe {
            let create = self
                .library
                .get::<unsafe extern "C" fn(
                    *mut Program,
                    *const c_char,
                    *const c_char,
                    c_int,
                    *const *const c_char,
                    *const *const c_char,
                ) -> c_int>(b"nvrtcCreateProgram")
                .expect("nvrtcCreateProgram");
            let compile = self
                .library
                .get::<unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int>(b"nvrtcCompileProgram")
                .expect("nvrtcCompileProgram");
            let destroy = self
                .library
                .get::<unsafe extern "C" fn(*mut Program) -> c_int>(b"nvrtcDestroyProgram")
                .expect("nvrtcDestroyProgram");
            let mut program: Program = ptr::null_mut();
            let status = create(&mut program, text.as_ptr(), c"kernel.cu".as_ptr(), 0, ptr::null(), ptr::null());
            assert_eq!(status, 0, "nvrtcCreateProgram");
            let status = compile(program, options.len() as c_int, options.as_ptr());
            let answer = if status == 0 {
                Ok(self.text(program, b"nvrtcGetPTXSize", b"nvrtcGetPTX"))
            } else {
                Err(self.text(program, b"nvrtcGetProgramLogSize", b"nvrtcGetProgramLog"))
            };
            destroy(&mut program);
            answer
        }
    }

    /// # Safety
    /// `program` must be NVRTC's, and the names those of a function for a length and one for that many bytes.
    unsafe fn text(&self, program: Program, length: &[u8], bytes: &[u8]) -> String {
        // SAFETY: as the caller says.
        unsafe {
            let get_length =
                self.library.get::<unsafe extern "C" fn(Program, *mut usize) -> c_int>(length).expect("length");
            let get_bytes =
                self.library.get::<unsafe extern "C" fn(Program, *mut c_char) -> c_int>(bytes).expect("bytes");
            let mut count = 0;
            assert_eq!(get_length(program, &mut count), 0);
            let mut text = vec![0_u8; count];
            assert_eq!(get_bytes(program, text.as_mut_ptr().cast()), 0);
            String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned()
        }
    }
}
